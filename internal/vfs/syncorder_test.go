package vfs

import (
	"errors"
	"strings"
	"testing"
)

// orderly is a store that installs files, step by step, so that a test can leave a step out or exchange two.
type orderly struct {
	t     *testing.T
	fs    *SyncOrderFS
	files map[string]File
}

func newOrderly(t *testing.T, inner FS, opts SyncOrderOptions) *orderly {
	fsys, err := SyncOrder(inner, opts)
	check(t, err)
	return &orderly{t, fsys, map[string]File{}}
}

// do runs steps such as "create data/1", "write data/1", "sync data/1", "syncdir data", "named data/1".
func (o *orderly) do(steps string) {
	o.t.Helper()
	for step := range strings.SplitSeq(steps, "; ") {
		verb, rest, _ := strings.Cut(strings.TrimSpace(step), " ")
		args := strings.Fields(rest)
		var err error
		switch verb {
		case "mkdir":
			err = o.fs.MkdirAll(args[0])
		case "create":
			o.files[args[0]], err = o.fs.Create(args[0])
		case "write":
			_, err = o.files[args[0]].Write([]byte("content"))
		case "sync":
			err = o.files[args[0]].Sync()
		case "failsync":
			if err := o.files[args[0]].Sync(); err == nil {
				o.t.Errorf("%s: no error", step)
			}
		case "close":
			err = o.files[args[0]].Close()
		case "syncdir":
			err = o.fs.SyncDir(args[0])
		case "remove":
			err = o.fs.Remove(args[0])
		case "rename":
			err = o.fs.Rename(args[0], args[1])
		case "link":
			err = o.fs.Link(args[0], o.fs, args[1])
		case "named":
			o.fs.Named(args...)
		case "doubt":
			o.fs.InDoubt(args...)
		default:
			o.t.Fatalf("step %q", step)
		}
		if err != nil {
			o.t.Fatalf("%s: %v", step, err)
		}
	}
}

func (o *orderly) want(part string) {
	o.t.Helper()
	got := strings.Join(o.fs.Violations(), "\n")
	if part == "" && got != "" || !strings.Contains(got, part) {
		o.t.Errorf("violations %q, want %q", got, part)
	}
}

func TestSyncOrder(t *testing.T) {
	f := func(steps, want string) {
		t.Helper()
		m := Mem()
		check(t, m.MkdirAll("data"))
		put(t, m, "data/0", "old")
		o := newOrderly(t, m, SyncOrderOptions{})
		o.do(steps)
		o.want(want)
	}
	const make1 = "create data/1; write data/1; sync data/1; close data/1; syncdir data; "
	f(make1+"named data/1 data/0", "")
	f(make1+"named data/1; named data/1 data/0; remove data/1", "remove \"data/1\": the durable manifest names data/1")
	f(make1+"named data/1; named data/0; remove data/1", "")
	f(make1+"named data/1; doubt data/0; remove data/1", "names data/1")
	f(make1+"named data/1; doubt data/0; remove data/0", "names data/0")
	f("named data/1", "not there")
	f("named data", "directory")
	f("create data/1; write data/1; syncdir data; named data/1", "0 of 7 bytes")
	f("create data/1; write data/1; sync data/1; write data/1; syncdir data; named data/1", "7 of 14 bytes")
	f("create data/1; write data/1; sync data/1; named data/1", "directory entry of data/1")
	f("create data/1; syncdir data; rename data/1 data/2; named data/2", "directory entry of data/2")
	f("create data/1; rename data/1 data/2; syncdir data; named data/2", "")
	f("mkdir x/y; create x/y/1; syncdir x/y; syncdir x; named x/y/1", "directory entry of x was")
	f("mkdir x/y; create x/y/1; syncdir x/y; syncdir x; syncdir .; named x/y/1", "")
	f("mkdir x; create x/1; syncdir x; syncdir .; rename x z; named z/1", "directory entry of z was")
	f("mkdir x; create x/1; syncdir x; syncdir .; rename x z; syncdir .; named z/1", "")
	f("link data/0 data/9; syncdir data; named data/9", "")
	f("link data/0 data/9; named data/9", "directory entry of data/9")
	f("named data/0; rename data/0 data/1", "names data/0")
	f(make1+"named data/0; rename data/1 data/0", "names data/0")
	f(make1+"named data/0; rename data/0 data/0", "")
	f("rename data/0 data/0; named data/0", "")
	f("link data/0 data/1; syncdir data; rename data/0 data/1; named data/0 data/1", "")
	f("rename data/0 0; syncdir data; rename 0 data/0; named data/0", "directory entry of data/0")
	f(make1+"remove data/1; create data/1; named data/1", "directory entry of data/1")
}

// TestSyncOrderOfTheRecord asks the harness after each sync of the manifest, and wants all to be durable before the
// record was written.
func TestSyncOrderOfTheRecord(t *testing.T) {
	named := func(calls int) bool { return true }
	asked := 0
	f := func(steps, want string, inner func(*MemFS) FS) *SyncOrderFS {
		t.Helper()
		asked = 0
		m := Mem()
		check(t, m.MkdirAll("data"))
		check(t, m.MkdirAll("manifest"))
		o := newOrderly(t, inner(m), SyncOrderOptions{Manifest: func(file string, err error) ([]string, bool) {
			if file != "manifest/1" {
				t.Errorf("asked about %s", file)
			}
			asked++
			return []string{"data/1"}, named(asked)
		}})
		o.do("create manifest/1; create data/1; " + steps)
		o.want(want)
		return o.fs
	}
	mem := func(m *MemFS) FS { return m }
	fsys := f("write data/1; sync data/1; syncdir data; write manifest/1; sync manifest/1; sync manifest/1", "", mem)
	if named, removed := fsys.Checks(); asked != 2 || named != 1 || removed != 0 {
		t.Errorf("asked %d times, %d and %d checks", asked, named, removed)
	}
	named = func(calls int) bool { return calls > 1 } // in the second record alone
	f("write manifest/1; sync manifest/1; write data/1; sync data/1; syncdir data; write manifest/1; sync manifest/1", "", mem)
	f("write data/1; sync data/1; syncdir data; write manifest/1; sync manifest/1; sync manifest/1", "", mem)
	named = func(int) bool { return true }
	f("write data/1; sync data/1; write manifest/1; syncdir data; sync manifest/1", "entry of data/1 was synced after", mem)
	f("write data/1; syncdir data; write manifest/1; sync data/1; sync manifest/1", "data/1, which was synced after", mem)
	f("write data/1; syncdir data; write manifest/1; sync manifest/1", "0 of 7", mem)

	failing := func(class Class, model SyncModel) func(*MemFS) FS {
		return func(m *MemFS) FS { return Faulty(m, Rule{Op: OpSync, Class: class, Sync: model}) }
	}
	f("write data/1; failsync data/1; sync data/1; syncdir data; write manifest/1; sync manifest/1", "a sync failed",
		failing(ClassData, SyncDroppedThenFine))
	f("write data/1; sync data/1; syncdir data; write manifest/1; failsync manifest/1; remove data/1", "names data/1",
		failing(ClassManifest, SyncKept))
}

func TestSyncOrderStartsFromWhatIsThere(t *testing.T) {
	m := Mem()
	check(t, m.MkdirAll("data"))
	put(t, m, "data/0", "old")
	o := newOrderly(t, m, SyncOrderOptions{})
	o.do("named data/0; remove data/0")
	o.want("names data/0")
	if named, removed := o.fs.Checks(); named != 1 || removed != 1 {
		t.Errorf("%d and %d checks", named, removed)
	}
	boom := errors.New("boom")
	_, err := SyncOrder(Faulty(Mem(), Rule{Op: OpList, Err: boom}), SyncOrderOptions{})
	wantErr(t, err, boom, "list")
}
