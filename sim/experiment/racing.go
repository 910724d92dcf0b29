//go:build race

package experiment

// racing says that the race detector is built in: sync.Pool then drops objects at random.
const racing = true
