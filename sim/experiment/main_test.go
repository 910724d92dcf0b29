package experiment

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain wants no goroutine to be left behind the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
