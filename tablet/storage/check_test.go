package storage

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/manifest"
	"millrace/tablet/wal"
)

// mustCheck checks, and sees to it that nothing changed.
func mustCheck(t testing.TB, mem *vfs.MemFS, o CheckOptions) *CheckReport {
	t.Helper()
	before := tree(t, mem)
	r, err := Check(t.Context(), mem, o)
	check(t, err)
	if !maps.Equal(before, tree(t, mem)) {
		t.Fatal("the check changed something")
	}
	if mem.OpenFiles() > 0 {
		t.Fatalf("%d files are open", mem.OpenFiles())
	}
	return r
}

// TestCheckSound finds nothing in a sound store, and counts it.
func TestCheckSound(t *testing.T) {
	mem := vfs.Mem()
	aStore(t, mem)
	for _, deep := range []bool{false, true} {
		var last, total int64
		r := mustCheck(t, mem, CheckOptions{Deep: deep, Progress: func(done, of int64) {
			if done < last || done > of || total != 0 && of != total {
				t.Errorf("progress %d of %d after %d of %d", done, of, last, total)
			}
			last, total = done, of
		}})
		if len(r.Findings) > 0 || r.Err() != nil {
			t.Errorf("found %v", r.Findings)
		}
		decoded := int64(0)
		if deep {
			decoded = 70
		}
		if r.Tables != 1 || r.Tablets != 1 || r.Files != 2 || r.Entries != 70 || r.Decoded != decoded || r.LogEntries != 4 || !r.Closed || r.Blocks < 10 {
			t.Errorf("deep %v: %+v", deep, r)
		}
		if last != total || total == 0 {
			t.Errorf("progress ended at %d of %d", last, total)
		}
	}
	empty := vfs.Mem()
	if r := mustCheck(t, empty, CheckOptions{}); len(r.Findings) > 0 {
		t.Errorf("nothing: %v", r.Findings)
	}
}

// TestCheckFlips flips a bit of every byte of manifest and log, and of some of the data files: each is found, by file, and
// nothing is changed.
func TestCheckFlips(t *testing.T) {
	mem := vfs.Mem()
	aStore(t, mem)
	files := tree(t, mem)
	rng := rand.New(rand.NewPCG(*seedFlag, 1))
	tried, seals := 0, 0
	flip := func(name string, at int) {
		t.Helper()
		tried++
		b := []byte(files[name])
		b[at] ^= 1 << rng.IntN(8)
		broken := cloneTree(files)
		broken[name] = string(b)
		r := mustCheck(t, build(t, broken), CheckOptions{Deep: tried%8 == 0})
		i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.File == name })
		switch {
		case i < 0:
			t.Fatalf("%s: byte %d of %d: found %v", name, at, len(b), r.Findings)
		case r.Findings[i].Kind != Damage || !errors.Is(r.Err(), tablet.ErrCorrupt) || r.Findings[i].Offset > int64(at):
			t.Fatalf("%s: byte %d of %d: %v", name, at, len(b), r.Findings)
		}
		if at >= len(b)-16 { // the mark at the end of a closed file
			seals++
		}
	}
	for _, dir := range []string{manifest.Dir, wal.Dir} {
		for _, name := range byDir(files, dir) {
			for at := range len(files[name]) {
				flip(name, at)
			}
		}
	}
	for range cases(400) {
		names := byDir(files, manifest.DataDir)
		name := names[rng.IntN(len(names))]
		flip(name, rng.IntN(len(files[name])))
	}
	if seals == 0 {
		t.Error("the ends of files were not tried")
	}
	fmt.Printf("R27 store bytes=%d found=%d changed=0 seed=%d\n", tried, tried, *seedFlag)
}

// TestCheckFinds damages a store in ways that no sum inside a file shows.
func TestCheckFinds(t *testing.T) {
	mem := vfs.Mem()
	aStore(t, mem)
	files := tree(t, mem)
	data, manifests := byDir(files, manifest.DataDir), byDir(files, manifest.Dir)
	f := func(what string, kind Kind, file, want string, change func(m map[string]string)) {
		t.Helper()
		broken := cloneTree(files)
		change(broken)
		for _, deep := range []bool{false, true} {
			r := mustCheck(t, build(t, broken), CheckOptions{Deep: deep})
			if len(r.Findings) == 0 || r.Findings[0].Kind != kind || r.Findings[0].File != file || !strings.Contains(r.Findings[0].String(), want) {
				t.Errorf("%s: %v", what, r.Findings)
			}
			if (r.Err() != nil) != kind.Serious() {
				t.Errorf("%s: %v", what, r.Err())
			}
		}
	}
	f("gone", Damage, data[0], "missing", func(m map[string]string) { delete(m, data[0]) })
	f("short", Damage, data[0], "bytes long", func(m map[string]string) { m[data[0]] = m[data[0]][:100] })
	f("exchanged", Damage, data[0], "", func(m map[string]string) { m[data[0]], m[data[1]] = m[data[1]], m[data[0]] })
	f("orphan", Orphan, manifest.FileName("C", 99), "does not name", func(m map[string]string) { m[manifest.FileName("C", 99)] = "x" })
	f("foreign", Foreign, "data/x", "not a name of ours", func(m map[string]string) { m["data/x"] = "x" })
	f("foreign at the top", Foreign, "x", "not a name of ours", func(m map[string]string) { m["x"] = "x" })
	f("foreign beside the manifest", Foreign, "manifest/x", "not a name of ours", func(m map[string]string) { m["manifest/x"] = "x" })
	f("foreign beside the log", Foreign, "wal/x", "not a name of ours", func(m map[string]string) { m["wal/x"] = "x" })
	f("older manifest", Unfinished, manifest.Name(1), "newer", func(m map[string]string) {
		m[manifest.Name(1)] = "x"
		if manifests[0] == manifest.Name(1) {
			t.Fatal("it has the name")
		}
	})
	f("unfinished manifest", Unfinished, manifest.Name(99), "crash", func(m map[string]string) { m[manifest.Name(99)] = "mrec" })
	f("torn manifest", Torn, manifests[0], "9 bytes", func(m map[string]string) { m[manifests[0]] = m[manifests[0]][:len(m[manifests[0]])-7] })
	f("manifest gone", Damage, manifest.Dir, "no whole manifest", func(m map[string]string) { delete(m, manifests[0]) })
	f("manifest longer", Damage, manifests[0], "behind the end", func(m map[string]string) { m[manifests[0]] += "x" })
	segments := byDir(files, wal.Dir)
	f("log longer", Damage, segments[len(segments)-1], "behind the end", func(m map[string]string) { m[segments[len(segments)-1]] += "x" })
	// The rest can still be checked without a manifest.
	f("a flip in the manifest and one in a file", Damage, manifests[0], "", func(m map[string]string) {
		b := []byte(m[manifests[0]])
		b[30] ^= 1
		m[manifests[0]] = string(b)
	})
	both := cloneTree(files)
	for _, name := range []string{manifests[0], data[1]} {
		b := []byte(both[name])
		b[40] ^= 1
		both[name] = string(b)
	}
	r := mustCheck(t, build(t, both), CheckOptions{})
	if len(r.Findings) != 2 || r.Findings[1].File != data[1] || !strings.Contains(r.Err().Error(), "1 more finding") {
		t.Errorf("two: %v", r.Findings)
	}
}

// TestCheckOldVersion puts a file's older content back in its place, sound in itself (R21).
func TestCheckOldVersion(t *testing.T) {
	mem := vfs.Mem()
	aStore(t, mem)
	l, err := Load(t.Context(), mem)
	check(t, err)
	for f := range l.State.Files() {
		files := tree(t, mem)
		old := vfs.Mem()
		check(t, old.MkdirAll(manifest.DataDir))
		s := &store{t: t, fs: old, next: f.Number + 100} // the same rows, another identity
		like := s.write(f.Ages, rows(string(f.FirstRow[:1]), int(f.Entries))...)
		content := contents(t, old, like.Name)
		files[f.Name] = string(content)
		r := mustCheck(t, build(t, files), CheckOptions{})
		if len(r.Findings) != 1 || r.Findings[0].Kind != Damage || r.Findings[0].File != f.Name {
			t.Errorf("%s: %v", f.Name, r.Findings)
		}
	}
}

// TestCheckDeep lets the manifest say something else than a file holds, though its sums are right.
func TestCheckDeep(t *testing.T) {
	f := func(what string, change func(*manifest.FileRef)) {
		t.Helper()
		mem := vfs.Mem()
		s := open(t, mem)
		ref := s.write(tablet.AgeRange{Oldest: 1, Newest: 1}, rows("a", 40)...)
		change(ref)
		_, err := s.w.Record(manifest.Install{Tablet: s.number, Session: 1, Add: ref})
		check(t, err)
		s.close()
		if r := mustCheck(t, mem, CheckOptions{}); what != "crc" && len(r.Findings) > 0 {
			t.Errorf("%s, not deep: %v", what, r.Findings)
		}
		r := mustCheck(t, mem, CheckOptions{Deep: true})
		if what == "" && len(r.Findings) > 0 || what != "" && (len(r.Findings) != 1 || r.Findings[0].Kind != Damage || r.Findings[0].File != ref.Name) {
			t.Errorf("%s: %v", what, r.Findings)
		}
	}
	f("", func(*manifest.FileRef) {})
	f("entries", func(f *manifest.FileRef) { f.Entries++ })
	f("deletes", func(f *manifest.FileRef) { f.Deletes-- })
	f("first row", func(f *manifest.FileRef) { f.FirstRow = []byte("a") })
	f("last row", func(f *manifest.FileRef) { f.LastRow = []byte("b") })
	f("crc", func(f *manifest.FileRef) { f.CRC++ })
}

// TestCheckUnreadable says what the file system does not give, and goes on with the rest.
func TestCheckUnreadable(t *testing.T) {
	mem := vfs.Mem()
	aStore(t, mem)
	names := byDir(tree(t, mem), manifest.DataDir)
	for _, op := range []vfs.Op{vfs.OpOpen, vfs.OpRead, vfs.OpStat} {
		faulty := vfs.Faulty(mem, vfs.Rule{Op: op, Name: names[0], Sticky: true, Err: syscall.EIO})
		r, err := Check(t.Context(), faulty, CheckOptions{Deep: true})
		if err != nil || len(r.Findings) != 1 || r.Findings[0].Kind != Unreadable || r.Findings[0].File != names[0] || r.Decoded == 0 ||
			!errors.Is(r.Err(), syscall.EIO) || errors.Is(r.Err(), tablet.ErrCorrupt) {
			t.Errorf("%s: %+v, %v", op, r, err)
		}
	}
	for n := 1; ; n++ { // and any other call
		faulty := vfs.Faulty(mem, vfs.Rule{N: n, Err: syscall.EIO})
		r, err := Check(t.Context(), faulty, CheckOptions{Deep: true})
		if len(faulty.Hits()) == 0 {
			break
		}
		told := err
		if err == nil {
			told = r.Err()
		}
		if hit := faulty.Hits()[0]; told == nil && hit.Op != vfs.OpClose && hit.Op != vfs.OpStat {
			t.Errorf("call %d, %v: not told: %+v", n, hit, r)
		}
		if errors.Is(told, tablet.ErrCorrupt) {
			t.Errorf("call %d, %v: taken for damage: %v", n, faulty.Hits(), told)
		}
	}
}

// TestCheckLeavesTheLock checks a store whose holder was killed: not even the lock's file changes.
func TestCheckLeavesTheLock(t *testing.T) {
	mem := vfs.Mem()
	s := open(t, mem)
	s.put("a")
	killed := mem.Clone()
	s.close()
	if got := tree(t, killed)[LockName]; got == "" {
		t.Fatal("the lock's file is empty")
	}
	r := mustCheck(t, killed, CheckOptions{Deep: true})
	if len(r.Findings) > 0 || r.Closed || r.LogEntries != 1 {
		t.Errorf("got %+v", r)
	}
	without := vfs.Mem()
	check(t, without.MkdirAll(manifest.Dir))
	mustCheck(t, without, CheckOptions{})
}

// TestPaths lets a manifest name files outside of its store, with sums repaired (R71): neither Load nor Check takes it, and
// no path but the store's own is touched.
func TestPaths(t *testing.T) {
	mem := vfs.Mem()
	aStore(t, mem)
	files := tree(t, mem)
	name := byDir(files, manifest.Dir)[0]
	good := byDir(files, manifest.DataDir)[0]
	strange := []string{"../outside/secret", "/etc/hostname/xxxxx", "data/../LOCK/xxxx", "wal/0000000003.wal"[:17], "data/F000000x.rf", "\x00ata/F0000003.rf",
		"data\\F0000003.rf", "data/\x00000003.rf\x00", "./ata/F000003.rf.", "data/F0000000.rf"}
	tried := 0
	for _, bad := range strange {
		bad = (bad + strings.Repeat("x", len(good)))[:len(good)]
		broken := cloneTree(files)
		broken[name] = string(reframe(t, mem, name, func(payload []byte) []byte {
			return bytes.ReplaceAll(payload, []byte(good), []byte(bad))
		}))
		if broken[name] == files[name] {
			t.Fatal("the name is not in the manifest")
		}
		trace := vfs.Trace(build(t, broken), vfs.TraceOptions{Keep: true})
		_, err := Load(t.Context(), trace)
		var c *tablet.CorruptError
		if !errors.As(err, &c) || c.File != name || c.Offset == 0 {
			t.Errorf("%q: %v", bad, err)
		}
		r, err := Check(t.Context(), trace, CheckOptions{Deep: true})
		if err != nil || !errors.Is(r.Err(), tablet.ErrCorrupt) {
			t.Errorf("%q: %+v %v", bad, r, err)
		}
		for _, e := range trace.Events() {
			if _, ours := files[e.Name]; !ours && e.Name != "." {
				t.Errorf("%q: %v", bad, e)
			}
		}
		tried++
	}
	fmt.Printf("R71 store names=%d refused=%d touched=0\n", tried, tried)
}
