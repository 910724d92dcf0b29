//go:build !race

package experiment

// racing says that the race detector is built in.
const racing = false
