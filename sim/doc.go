// Package sim runs the whole real engine on one goroutine, in virtual time, in an order drawn from a seed: what happened
// once happens again for the same seed, to the byte.
package sim
