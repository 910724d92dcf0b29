//go:build race

package iter

// raceEnabled: the race detector has sync.Pool forget, and so package regexp allocate.
const raceEnabled = true
