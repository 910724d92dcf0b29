//go:build race

package manifest

// thin: the race detector makes everything ten times slower, so one of so many points is tried.
const thin = 10
