package actors

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"millrace/tablet"
)

func TestAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission(&Runtime{}, "tests", 10)
		enter := func(bytes int64) (*ticket, chan error) {
			done := make(chan error, 1)
			var got *ticket
			go func() {
				var err error
				got, err = a.enter(t.Context(), bytes)
				done <- err
			}()
			synctest.Wait()
			return got, done
		}
		in := func(done chan error) bool { return len(done) == 1 }

		first, d1 := enter(6)
		_, d2 := enter(6)
		_, d3 := enter(1) // would fit, but does not overtake
		if !in(d1) || in(d2) || in(d3) {
			t.Fatal("of 6, 6 and 1 bytes into 10 only the first may go in")
		}
		first.Return()
		first.Return() // counts once
		synctest.Wait()
		if !in(d2) || !in(d3) || a.used != 7 {
			t.Fatalf("after the first left: %d bytes in", a.used)
		}
		_, huge := enter(1000)
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error, 1)
		go func() { _, err := a.enter(ctx, 1); gaveUp <- err }()
		synctest.Wait()
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("gave up with %v", err)
		}
		a.release(7)
		synctest.Wait()
		if !in(huge) || a.used != 10 {
			t.Errorf("what is larger than everything must be let in alone: %d bytes in", a.used)
		}
		_, turned := enter(1)
		a.close(tablet.ErrClosed)
		if err := <-turned; !errors.Is(err, tablet.ErrClosed) {
			t.Errorf("in line at the close: %v", err)
		}
		if _, err := a.enter(t.Context(), 1); !errors.Is(err, tablet.ErrClosed) {
			t.Errorf("after the close: %v", err)
		}
	})
}

// Who gives up may have been what others stood behind.
func TestAdmissionGivingUpLetsOthersIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission(&Runtime{}, "tests", 10)
		if _, err := a.enter(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		big, small := make(chan error, 1), make(chan error, 1)
		go func() { _, err := a.enter(ctx, 8); big <- err }()
		synctest.Wait()
		go func() { _, err := a.enter(t.Context(), 5); small <- err }()
		synctest.Wait()
		cancel()
		if err := <-big; err == nil {
			t.Error("8 bytes went in")
		}
		if err := <-small; err != nil || a.used != 10 {
			t.Errorf("5 bytes: %v, %d in", err, a.used)
		}
	})
}

func TestPieces(t *testing.T) {
	f := func(want int, sizes ...int) {
		t.Helper()
		var ms []*tablet.Mutation
		for _, n := range sizes {
			m := tablet.NewMutation(nil)
			m.Put(nil, nil, nil, make([]byte, n))
			ms = append(ms, m)
		}
		if got, _ := nextPiece(ms); len(got) != want {
			t.Errorf("a piece of %d mutations, want %d", len(got), want)
		}
	}
	f(3, 1, 1, 1)
	f(1, 10<<20, 1) // larger than a piece: alone
	f(2, pieceBytes/2, pieceBytes/2, 1)
	f(pieceMutations, make([]int, pieceMutations+5)...)
}
