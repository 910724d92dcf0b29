package script

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"millrace/actors"
	"millrace/internal/vfs"
)

// disk is what a run's stores stand on: files in memory, some calls of which may fail, and what went wrong on the actors'
// goroutines.
type disk struct {
	mem    *vfs.MemFS
	faulty *vfs.FaultyFS // on mem
	short  *shortFS      // on faulty

	mu     sync.Mutex
	panics []string
}

func newDisk(mem *vfs.MemFS) *disk {
	faulty := vfs.Faulty(mem)
	return &disk{mem: mem, faulty: faulty, short: &shortFS{FS: faulty}}
}

// heal ends all faults.
func (d *disk) heal() {
	d.faulty.Heal()
	d.short.heal()
}

func (d *disk) failed(err *actors.PanicError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.panics = append(d.panics, err.Error())
}

// panicked says what has panicked since it was asked last.
func (d *disk) panicked() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.panics) == 0 {
		return nil
	}
	first := d.panics[0]
	d.panics = nil
	return &mismatch{found: "panic: " + first, expected: "no panic"}
}

// begin makes the fresh store and its table.
func (r *runner) begin(ctx context.Context) error {
	r.disk = newDisk(vfs.Mem())
	return r.within(ctx, func(ctx context.Context) error {
		if err := r.open(ctx); err != nil {
			return err
		}
		return r.store.CreateTable(ctx, tableName, nil, r.tableProperties())
	})
}

// open opens the store on what the disk holds.
func (r *runner) open(ctx context.Context) (err error) {
	r.store, err = actors.Open(ctx, "", actors.WithFS(r.disk.short), actors.WithProperties(r.serverProperties()),
		actors.WithMemoryLimit(r.script.hints.memoryLimitBytes), actors.WithHooks(actors.Hooks{Failed: r.disk.failed}))
	return err
}

// shut closes scans and store, and wants nothing left behind.
func (r *runner) shut(ctx context.Context) error {
	for id, s := range r.scans {
		s.close()
		delete(r.scans, id)
	}
	if r.store == nil {
		return nil
	}
	err := r.store.Close(ctx)
	r.store = nil
	if err == nil {
		err = r.disk.panicked()
	}
	if n := r.disk.mem.OpenFiles(); err == nil && n > 0 {
		err = mismatchf("none after the store was closed", "%d files open or locks held", n)
	}
	return err
}

// end closes the store when all is done, also after a failure.
func (r *runner) end() error {
	if r.stuck || r.disk == nil {
		return nil
	}
	r.at = ""
	err := r.within(context.Background(), r.shut)
	if err != nil {
		err = fmt.Errorf("close of the store: %w", err)
	}
	return err
}

// restartStep closes the store, or lets it crash, and opens it again.
type restartStep struct{ crash bool }

// run keeps after a crash what was synced before it. The store that crashed is closed on the files that nobody will see
// again, so that its goroutines end; it cannot do any harm there.
func (s restartStep) run(ctx context.Context, r *runner) error {
	r.disk.heal()
	next := r.disk
	if s.crash {
		next = newDisk(r.disk.mem.Durable())
	}
	if err := r.shut(ctx); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	r.disk = next
	if err := r.open(ctx); err != nil {
		return fmt.Errorf("open again: %w", err)
	}
	return nil
}

// never is a size or count that no script reaches.
const never = 1 << 30

// tableProperties are the script's settings by the engine's names.
func (r *runner) tableProperties() map[string]string {
	t, h := &r.script.table, &r.script.hints
	p := versionProperties(t.maxVersions)
	p["table.time.type"] = t.time
	p["table.durability"] = t.durability
	p["table.key.size.max"] = strconv.Itoa(t.maxKeyBytes)
	p["table.file.compress.type"] = "none"
	if h.dataBlockBytes > 0 {
		p["table.file.compress.blocksize"] = strconv.Itoa(h.dataBlockBytes)
	}
	if h.indexBlockBytes > 0 {
		p["table.file.compress.blocksize.index"] = strconv.Itoa(h.indexBlockBytes)
	}
	if r.mode.Small {
		p["table.file.compress.blocksize"] = "1"
		p["table.file.compress.blocksize.index"] = "1"
	}
	if h.splitBytes > 0 {
		p["table.split.threshold"] = strconv.FormatInt(h.splitBytes, 10)
	}
	if !t.autoCompact {
		p["table.compaction.major.ratio"] = strconv.Itoa(never)
		p["table.file.max"] = strconv.Itoa(never)
	}
	if !t.autoFlush {
		p["table.compaction.minor.idle"] = "1000h"
	}
	return p
}

// versionProperties keep so many versions, wherever they are counted.
func versionProperties(n int) map[string]string {
	p := map[string]string{}
	for _, scope := range []string{"scan", "minc", "majc"} {
		p["table.iterator."+scope+".vers"] = "20,VersioningIterator"
		p["table.iterator."+scope+".vers.opt.maxVersions"] = strconv.Itoa(n)
	}
	return p
}

func (r *runner) serverProperties() map[string]string {
	p := map[string]string{}
	if n := r.script.hints.maxOpenFiles; n > 0 {
		p["tserver.scan.files.open.max"] = strconv.Itoa(max(n, 2))
		p["tserver.compaction.major.thread.files.open.max"] = strconv.Itoa(max(n, 2))
	}
	if !r.script.table.autoFlush {
		p["tserver.memory.maps.max"] = "1G"
		p["tserver.wal.max.referenced"] = strconv.Itoa(never)
	}
	return p
}

// configStep changes how many versions are kept from now on.
type configStep struct{ maxVersions int }

func parseConfig(o *object, _ string) step {
	o.must("maxVersions")
	return &configStep{maxVersions: o.count("maxVersions", 1, 0)}
}

func (s *configStep) run(ctx context.Context, r *runner) error {
	return r.store.SetProperties(ctx, tableName, versionProperties(s.maxVersions))
}

// splitStep makes a row the last of a tablet.
type splitStep struct{ row byteString }

func parseSplit(o *object, _ string) step {
	o.must("row")
	return &splitStep{row: o.bytes("row", false)}
}

func (s *splitStep) run(ctx context.Context, r *runner) error {
	err := r.store.AddSplits(ctx, tableName, [][]byte{s.row.bytes()})
	if errors.Is(err, errUsage) {
		return nil // a split that cannot be made is no failure
	}
	return err
}
