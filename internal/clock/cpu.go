package clock

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessCPU is the processor time, user and system, that all threads of this process have used. Only differences
// mean anything.
func ProcessCPU() time.Duration { return cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID) }

// ThreadCPU is the processor time that the calling thread has used. Only differences on one thread mean anything: the
// caller holds runtime.LockOSThread from the first reading to the last.
func ThreadCPU() time.Duration { return cpuTime(unix.CLOCK_THREAD_CPUTIME_ID) }

func cpuTime(id int32) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		// The two clocks exist on every system that this compiles for.
		panic(fmt.Sprintf("clock: read processor time: %v", err))
	}
	return time.Duration(ts.Nano())
}
