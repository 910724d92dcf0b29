package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/sim/oracle"
	"millrace/tablet"
	"millrace/tablet/visibility"
)

// PlayOptions say how a Player makes its tables and takes what happens.
type PlayOptions struct {
	// Tables to make. Default {"t"}.
	Tables []string
	// Versions is how many of each cell the tables keep. Default 2.
	Versions int
	// PageEntries bounds the pages of its scans. Default 16.
	PageEntries int
	// Properties are the tables', beside those for versions. Default QuietTable, so that nothing is compacted that the
	// history does not ask for: a full compaction that nobody asked for would show in what old timestamps do.
	Properties map[string]string
	// PropertiesOf adds to them what one table has of its own.
	PropertiesOf func(table string) map[string]string
	// Tolerate says that an operation may fail with this error: it may then have happened or not. Default: if the world has
	// faults, or its operations are cancelled, any error; else none.
	Tolerate func(op Op, err error) bool
	// Image is what is left of the files when the history itself crashes the engine. Default the function Image.
	Image func(op Op, fs vfs.FS) vfs.FS
	// Setup is called once the store is open and its tables are made.
	Setup func(p *Player) error
	// Began and Ended look on: an operation is about to be called, and it has returned. The model is as it is then.
	Began, Ended func(op Op)
}

// QuietTable are properties with which a table compacts nothing by itself.
var QuietTable = map[string]string{"table.compaction.major.ratio": "1000000", "table.file.max": "1000000"}

// Player plays histories in a world, one operation after the other, and holds every answer against the model of what may
// be there.
type Player struct {
	World  *World
	Models map[string]*oracle.Model // by table
	Did    map[OpKind]int           // operations that succeeded

	options PlayOptions
	all     visibility.Authorizations
	// Where the tables are cut, and the one that is being made.
	extents  map[string][]tablet.Extent
	creating string
}

// NewPlayer returns a player for a world whose store is not open yet.
func NewPlayer(w *World, o PlayOptions) *Player {
	if o.Tables == nil {
		o.Tables = []string{"t"}
	}
	if o.Versions == 0 {
		o.Versions = 2
	}
	if o.Properties == nil {
		o.Properties = QuietTable
	}
	if o.Tolerate == nil {
		o.Tolerate = func(Op, error) bool { return len(w.options.Faults) > 0 }
	}
	if o.PageEntries == 0 {
		o.PageEntries = 16
	}
	if o.Image == nil {
		o.Image = Image
	}
	p := &Player{World: w, options: o, Models: make(map[string]*oracle.Model), Did: make(map[OpKind]int)}
	p.all, _ = visibility.NewAuthorizations("a", "b")
	return p
}

// VersionedTable are the properties of a table that keeps so many versions of a cell, in scans and in files.
func VersionedTable(versions int) map[string]string {
	p := make(map[string]string)
	for _, scope := range []string{"scan", "minc", "majc"} {
		p["table.iterator."+scope+".vers"] = "20,VersioningIterator"
		p["table.iterator."+scope+".vers.opt.maxVersions"] = fmt.Sprint(versions)
	}
	return p
}

func (o *PlayOptions) properties(table string) map[string]string {
	properties := VersionedTable(o.Versions)
	maps.Copy(properties, o.Properties)
	if o.PropertiesOf != nil {
		maps.Copy(properties, o.PropertiesOf(table))
	}
	return properties
}

// Begin opens the store and makes the tables.
func (p *Player) Begin() error {
	for deep := 0; ; deep++ {
		err := p.begin()
		if !Crashed(err) || deep == 10 {
			return err
		}
		p.World.Crash(p.options.Image(Op{Kind: PowerCut, Pick: p.World.Steps()}, p.World.FS())) // by a fault
	}
}

func (p *Player) begin() error {
	if err := p.World.Open(); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	for _, table := range p.options.Tables {
		if err := p.create(table, p.options.properties(table)); err != nil {
			return err
		}
	}
	if err := p.look(); err != nil {
		return err
	}
	if p.options.Setup != nil {
		return p.options.Setup(p)
	}
	return nil
}

// create makes a table. With faults it may take more than one try, and an earlier one may have made it.
func (p *Player) create(table string, properties map[string]string) error {
	p.creating = table
	op := Op{Kind: "create", Table: table}
	var err error
	if _, e := p.World.Store().Tablets(table); e != nil { // else an earlier life has made it
		err = p.World.Store().CreateTable(context.Background(), table, nil, properties)
	}
	for try := 0; err != nil && try < 20 && p.tolerate(op, err); try++ {
		if err := p.World.Sleep(time.Second); err != nil {
			return err
		}
		if _, e := p.World.Store().Tablets(table); e == nil {
			err = nil
		} else {
			err = p.World.Store().CreateTable(context.Background(), table, nil, properties)
		}
	}
	if err != nil {
		return err
	}
	p.creating = ""
	p.Models[table] = oracle.NewModel(p.options.Versions)
	return nil
}

// Play does all operations of a history, and checks at the end. The error names the operation that broke a promise. After
// a Crash fault it recovers and goes on with the next operation.
func (p *Player) Play(h History) error {
	for _, op := range h {
		err := p.Do(op)
		if Crashed(err) { // by a fault
			err = p.crash(op)
		}
		if err != nil {
			return fmt.Errorf("operation %v: %w", op, err)
		}
	}
	err := p.Check()
	if Crashed(err) {
		err = p.crash(Op{Pick: p.World.Steps()})
	}
	if err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	return nil
}

// PlayAtOnce plays several histories at the same time, each by a client of its own, and checks at the end. Their
// operations should be numbered apart (HistoryOptions.First), and be few on one row at a time; Reopen, Check and crashes
// are not for clients. The error wraps ErrCrashed after a Crash fault; Recover goes on from there.
func (p *Player) PlayAtOnce(histories ...History) error {
	errs := make([]error, len(histories))
	for i, h := range histories {
		p.World.Go(fmt.Sprint("writer ", i+1), func(c *Client) {
			for _, op := range h {
				err := p.Do(op)
				if err == nil {
					err = c.Pause()
				}
				if err != nil {
					errs[i] = fmt.Errorf("writer %d, operation %v: %w", i+1, op, err)
					return
				}
			}
		})
	}
	err := p.World.Run()
	if err == nil {
		err = errors.Join(errs...)
	}
	if err == nil {
		err = p.Check()
	}
	return err
}

// Do does one operation. An error that the options tolerate is none.
func (p *Player) Do(op Op) error {
	if p.options.Began != nil {
		p.options.Began(op)
	}
	// Two operations of one player never get the same timestamp.
	p.World.Clock().Pass(2 * time.Millisecond)
	err := p.do(op)
	switch {
	case err == nil:
		p.Did[op.Kind]++
	case errors.Is(err, errSkipped):
		err = nil
	}
	if p.options.Ended != nil && !Crashed(err) {
		p.options.Ended(op)
	}
	return err
}

// errSkipped ends an operation for which there is nothing to do.
var errSkipped = errors.New("nothing to do")

func (p *Player) do(op Op) error {
	ctx, done := p.World.Context()
	defer done()
	s, m := p.World.Store(), p.Models[op.Table]
	switch op.Kind {
	case Write:
		return p.ended(op, m.Begin(p.level(op), op.Mutations...), s.Apply(ctx, op.Table, op.Mutations, actors.WithDurability(op.Durability)))
	case Flush:
		pending := m.BeginFlush()
		return p.ended(op, pending, s.Flush(ctx, op.Table))
	case Full:
		pending := m.BeginCompact(tablet.Range{})
		_, err := s.Compact(ctx, op.Table, actors.CompactOptions{})
		return p.ended(op, pending, err)
	case Partial:
		return p.partial(ctx, op)
	case Split:
		return p.split(ctx, op)
	case Reopen:
		return p.reopen(op)
	case PowerCut, Killed:
		return p.crash(op)
	case Pause:
		return p.World.Sleep(op.For)
	case Check:
		return p.Check()
	}
	return fmt.Errorf("unknown operation %q", op.Kind)
}

func (p *Player) level(op Op) tablet.Durability {
	if op.Durability != tablet.DurabilityDefault {
		return op.Durability
	}
	if d, err := tablet.ParseDurability(p.options.properties(op.Table)["table.durability"]); err == nil {
		return d
	}
	return tablet.DurabilitySync
}

// ended tells the model how an operation ended. A failed one may have had its effect already, but must have none later:
// so everything that is on its way comes to its end first.
func (p *Player) ended(op Op, pending *oracle.Pending, err error) error {
	m := p.Models[op.Table]
	switch {
	case err == nil:
		m.Ack(pending)
		return nil
	case Crashed(err):
		return err // in flight for ever; Recover settles it
	case !p.tolerate(op, err):
		return err
	}
	if err := p.World.Sleep(5 * time.Second); err != nil {
		return err
	}
	if errors.Is(err, tablet.ErrBusy) && !errors.Is(err, actors.ErrUnknownOutcome) && len(op.Mutations) == 1 {
		m.Refused(pending)
	} else {
		m.Unknown(pending)
	}
	return errSkipped
}

// tolerate says that an operation may fail so. A crash and a deadlock are never a way to fail.
func (p *Player) tolerate(op Op, err error) bool {
	return !Crashed(err) && !errors.Is(err, ErrDeadlock) && p.options.Tolerate(op, err)
}

// Check scans every table and holds it against its model. With faults a scan may fail, but not for ever.
func (p *Player) Check() error {
	_, err := p.check()
	return err
}

// check returns what it has found, in the order of tables.
func (p *Player) check() (all [][]tablet.Entry, err error) {
	if _, _, err := p.World.SyncChecks(); err != nil {
		return nil, broken(Damaged, err)
	}
	if err := p.World.Panicked(); err != nil {
		return nil, err
	}
	for _, table := range slices.Sorted(maps.Keys(p.Models)) {
		found, err := p.Scan(table)
		for try := 0; err != nil && try < 50 && p.tolerate(Op{Kind: Check, Table: table}, err); try++ {
			if err := p.World.Sleep(time.Second << min(try, 6)); err != nil {
				return nil, err
			}
			found, err = p.Scan(table)
		}
		if err != nil {
			return nil, fmt.Errorf("scan of table %s: %w", table, err)
		}
		for i := range found {
			if err := CheckValue(&found[i]); err != nil {
				return nil, broken(Phantom, fmt.Errorf("table %s: %w", table, err))
			}
		}
		if err := p.Models[table].Check(oracle.Query{}, found); err != nil {
			return nil, fmt.Errorf("table %s: %w", table, err)
		}
		all = append(all, found)
	}
	return all, nil
}

// Scan is everything in a table, whatever its labels.
func (p *Player) Scan(table string) ([]tablet.Entry, error) {
	sc, err := p.World.Store().Scan(context.Background(), table, actors.ScanOptions{Authorizations: p.all, PageEntries: p.options.PageEntries})
	if err != nil {
		return nil, err
	}
	return ReadAll(sc)
}

// ReadAll takes everything from a scanner, and closes it.
func ReadAll(sc *actors.Scanner) (all []tablet.Entry, err error) {
	defer sc.Close()
	for sc.Next() {
		all = append(all, sc.Entry().Clone())
	}
	return all, sc.Err()
}
