//go:build !race

package rfile

const raceSlowdown = 1
