//go:build race

package rfile

// raceSlowdown is how much longer the race detector lets code take, at most.
const raceSlowdown = 10
