//go:build !race

package storage

// thin: all points are tried.
const thin = 1
