//go:build race

package bcfile

// raceEnabled: the race detector makes pools forget and everything ten times slower.
const raceEnabled = true
