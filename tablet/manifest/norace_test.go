//go:build !race

package manifest

// thin: all points are tried.
const thin = 1
