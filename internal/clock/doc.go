// Package clock is the one place that asks what time it is.
//
// Clock gives the time and calls back later. Real is the machine's; Manual stands still until a test or the simulator
// moves it. Sleep, Since and Every are written once on top of any Clock. ProcessCPU and ThreadCPU measure processor
// time, for experiments; nothing that decides anything may depend on them.
//
// The package never starts a goroutine of its own: Real's callbacks run on the runtime's, Manual's on the goroutine
// that moves it.
package clock
