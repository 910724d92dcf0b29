package actors_test

import (
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
)

// TestStoreOutlivesAnErrorAtEachCall lets the n-th call to the file system fail, before or after it took effect, a sync also with
// its data lost. Whoever is told tries again, and gets through; then nothing is lost, also after a power cut, and no file
// is left over.
func TestStoreOutlivesAnErrorAtEachCall(t *testing.T) {
	most, stride := 400, 3 // every call is a matter for the simulator
	if testing.Short() || raceEnabled {
		most = 40
	}
	f := func(name string, rule vfs.Rule) {
		t.Run(name, func(t *testing.T) {
			for n := 1; n <= most && !t.Failed(); n += stride {
				rule.N = n
				if !errorAt(t, rule) {
					t.Logf("%d calls", n-1)
					break
				}
			}
		})
	}
	f("EIO", vfs.Rule{})
	f("ENOSPC", vfs.Rule{Err: syscall.ENOSPC})
	f("EIO after it took effect", vfs.Rule{After: true})
	f("sync that loses data", vfs.Rule{Op: vfs.OpSync, Sync: vfs.SyncDroppedThenFine})
	f("short write", vfs.Rule{Op: vfs.OpWrite, Err: syscall.ENOSPC, Short: 7})
}

func errorAt(t *testing.T, rule vfs.Rule) (hit bool) {
	mem := vfs.Mem()
	when := rule.String()
	var rows []string
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, mem)
		mustCreate(t, s, [][]byte{[]byte("8")}, plain)
		rows = storeHistory(t, s, 0, when)
		closeStore(t, s)
		fs := vfs.Faulty(mem, rule)
		s, err := actors.Open(t.Context(), "", actors.WithFS(fs))
		if err != nil {
			hit = true
			if s, err = actors.Open(t.Context(), "", actors.WithFS(fs)); err != nil {
				t.Fatalf("%s: it is not opened: %v", when, err)
			}
		}
		rows = append(rows, storeHistory(t, s, 1, when)...)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		hit = hit || len(fs.Hits()) > 0
		fs.Heal()
		checkRows(t, s, rows)
		checkDir(t, s)
		closeStore(t, s)
		time.Sleep(2 * time.Second)
	})
	s := openStore(t, mem.Durable())
	checkRows(t, s, rows)
	closeStore(t, s)
	if t.Failed() {
		t.Log(when)
	}
	return hit
}
