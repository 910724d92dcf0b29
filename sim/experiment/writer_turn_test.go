package experiment

import (
	"errors"
	"fmt"
	"testing"
)

// TestInTurn: no lane always comes first, and the first error ends all.
func TestInTurn(t *testing.T) {
	f := func(fail int, want string) {
		t.Helper()
		seen, told := "", int64(0)
		r := turns{warmUps: 1, runs: 2, progress: func(p Phase) { told = p.Done }}
		err := r.inTurn(&writerCell{lanes: make([]writerLane, 3)}, &Phase{}, func(lane, turn int) error {
			seen += fmt.Sprintf("%d%d ", turn, lane)
			if len(seen) == 3*fail {
				return errors.New("the run failed")
			}
			return nil
		})
		if seen != want || (err != nil) != (fail > 0) || told != int64(len(seen)/3-1) {
			t.Errorf("%s, %v after %d told of", seen, err, told)
		}
	}
	f(0, "00 01 02 12 11 10 20 21 22 ")
	f(4, "00 01 02 12 ")
}
