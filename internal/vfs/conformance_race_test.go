package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestConcurrentUse(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, _ func() FS) {
		content := strings.Repeat("0123456789", 1000)
		put(t, fsys, "shared", content)
		shared, err := fsys.Open("shared")
		check(t, err)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				buf := make([]byte, 10)
				for i := range 50 {
					name := fmt.Sprintf("%d-%d", g, i)
					f, err := fsys.Create(name)
					if err != nil {
						t.Error(err)
						return
					}
					_, werr := f.Write([]byte(name))
					_, rerr := shared.ReadAt(buf, int64(10*i))
					err = errors.Join(werr, rerr, f.Sync(), f.Close(), fsys.Rename(name, fmt.Sprint(g)))
					if err != nil || !bytes.Equal(buf, []byte("0123456789")) {
						t.Errorf("%q, %v", buf, err)
						return
					}
				}
			})
		}
		wg.Wait()
		check(t, shared.Close())
		wantList(t, fsys, ".", "0 1 2 3 shared")
		if got := get(t, fsys, "2"); got != "2-49" {
			t.Errorf("last file holds %q", got)
		}
	})
}
