//go:build !race

package bcfile

const raceEnabled = false
