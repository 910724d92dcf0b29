package experiment

import (
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"
)

// TestMain wants no goroutine to be left behind the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
