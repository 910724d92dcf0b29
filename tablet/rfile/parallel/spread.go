package parallel

import (
	"runtime"
	"sync"
)

// MaxSpread is the most goroutines that Spread starts, whatever the machine has.
const MaxSpread = 16

// Spread is for rfile.VerifyOptions.Spread: it runs work once for each processor that may be used, at most MaxSpread
// times, and returns when all runs have.
func Spread(work func()) {
	var running sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), MaxSpread) - 1 {
		running.Go(work)
	}
	work()
	running.Wait()
}
