package sim

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, and wants no goroutine to be left behind them; or, in a process that a test has started, what
// that test wants of it.
func TestMain(m *testing.M) {
	if order := os.Getenv(childOrder); order != "" {
		os.Exit(runChild(order))
	}
	goleak.VerifyTestMain(m)
}
