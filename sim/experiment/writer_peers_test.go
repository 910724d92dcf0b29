package experiment

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"millrace/tablet"
)

// liar is a store that gives another value than was written, or comes to an end too soon.
type liar struct {
	PeerStore
	value string
	most  int
}

func (l liar) Each(ctx context.Context, f func(k *tablet.Key, value []byte) error) error {
	n := 0
	err := l.PeerStore.Each(ctx, func(k *tablet.Key, value []byte) error {
		if n++; n > l.most {
			return errEnough
		}
		if n == 5 && l.value != "" {
			value = []byte(l.value)
		}
		return f(k, value)
	})
	if err == errEnough {
		return nil
	}
	return err
}

var errEnough = errors.New("enough")

func TestPeers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx := context.Background()
	o := PeersOptions{Mutations: 2000, Threads: []int{2, 1}, MemoryBytes: []int64{1 << 18}, Tablets: 2, Runs: 2, Seed: 3}
	lie := func(name, value string, most int) Peer {
		return Peer{Name: name, Times: 1000, Open: func(ctx context.Context, dir string, splits [][]byte) (PeerStore, error) {
			s, err := openOurs(ctx, dir, splits)
			return liar{s, value, most}, err
		}}
	}
	f := func(alike string, peers ...Peer) *PeersDocument {
		t.Helper()
		doc, err := Peers(ctx, o, peers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(doc.Checks) != 2 || !doc.Checks[0].OK || doc.Checks[0].Value != "12" || doc.Checks[1].Value != alike || doc.Checks[1].Want != "4" {
			t.Errorf("%+v", doc.Checks)
		}
		return doc
	}
	doc := f("4", Ours(), lie("honest", "", 2000))
	if len(doc.Rows) != 4 || len(doc.Ratios) != 2 || doc.Rows[0].Apply != "millrace" || doc.Rows[1].Apply != "honest" || doc.Rows[0].Threads != 1 {
		t.Errorf("%+v, %+v", doc.Rows, doc.Ratios)
	}
	if len(doc.Bars) != 1 || doc.Bars[0].OK {
		t.Errorf("%+v", doc.Bars)
	}
	f("2", Ours(), lie("another value", "x", 2000))
	f("2", Ours(), lie("one too few", "", 1999))
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if _, err := Peers(short, o, []Peer{Ours()}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
	if _, err := Peers(ctx, PeersOptions{Threads: []int{0}}, []Peer{Ours()}, nil); !errors.Is(err, tablet.ErrUsage) {
		t.Errorf("ended with %v", err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
