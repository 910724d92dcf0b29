package rfile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"millrace/tablet"
)

// verifyAll verifies a file entry by entry and block by block, on one goroutine and on several. All must find the same.
func verifyAll(ctx context.Context, r *Reader) ([]GroupReport, error) {
	reports, err := r.Verify(ctx, VerifyOptions{Hash: true})
	for _, n := range []int{1, 3} {
		again, alsoErr := r.Verify(ctx, VerifyOptions{Spread: spread(n)})
		if want, got := textOf(err), textOf(alsoErr); want != got {
			return nil, fmt.Errorf("%w: entry by entry %v, on %d goroutines %v", errWrong, err, n, alsoErr)
		}
		for i := range again {
			if again[i].SHA256 = reports[i].SHA256; again[i] != reports[i] {
				return nil, fmt.Errorf("%w: entry by entry %+v, on %d goroutines %+v", errWrong, reports[i], n, again[i])
			}
		}
		if len(again) != len(reports) {
			return nil, fmt.Errorf("%w: %d groups on %d goroutines, %d entry by entry", errWrong, len(again), n, len(reports))
		}
	}
	return reports, err
}

// textOf is what an error says. Of what a block and the Bloom filter have against each other, either may be named.
func textOf(err error) string {
	var corrupt *tablet.CorruptError
	switch {
	case err == nil:
		return "sound"
	case !errors.As(err, &corrupt):
		return "not corrupt"
	case strings.Contains(err.Error(), bloomName):
		return "filter"
	}
	return err.Error()
}

// spread runs work n times at once.
func spread(n int) func(work func()) {
	return func(work func()) {
		var running sync.WaitGroup
		for range n {
			running.Go(work)
		}
		running.Wait()
	}
}
