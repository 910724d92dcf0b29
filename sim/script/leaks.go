package script

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"millrace/internal/clock"
)

// goroutineLabel is on every goroutine of a run: each inherits it from the one that starts it.
const goroutineLabel = "script"

// leftGoroutines waits for the goroutines of a run to end, and says which do not.
func leftGoroutines(label string) error {
	const patience, every = graceTime, 2 * time.Millisecond
	for waited := time.Duration(0); ; waited += every {
		left, example := labelled(label)
		if left == 0 {
			return nil
		}
		if waited >= patience {
			return &mismatch{
				found:    fmt.Sprintf("%d goroutines left, one of them in %s", left, example),
				expected: "none after the store was closed",
			}
		}
		if err := clock.Sleep(context.Background(), clock.Real{}, every); err != nil {
			return err
		}
	}
}

// goroutineGroup is the first line of goroutines with one stack, in the profile: their number.
var goroutineGroup = regexp.MustCompile(`^(\d+) @ `)

// labelled counts the goroutines with a label.
func labelled(label string) (n int, example string) {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return 0, ""
	}
	mark := fmt.Sprintf("%q:%q", goroutineLabel, label)
	for group := range strings.SplitSeq(profile.String(), "\n\n") {
		head := goroutineGroup.FindStringSubmatch(group)
		if head == nil || !strings.Contains(group, mark) {
			continue
		}
		count, _ := strconv.Atoi(head[1])
		n += count
		if example == "" {
			example = innermost(group)
		}
	}
	return n, example
}

// innermost is our own code that a stack is in.
func innermost(group string) string {
	for line := range strings.Lines(group) {
		if i := strings.Index(line, "millrace/"); i >= 0 {
			return strings.Fields(line[i:])[0]
		}
	}
	return "foreign code"
}
