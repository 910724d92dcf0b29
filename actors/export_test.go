package actors

import "github.com/asynkron/protoactor-go/actor"

// What the tests of package actors_test may see.

func SchedulerSpec(minorMax, majorMax int) Spec {
	return Spec{Kind: "scheduler", New: func() actor.Actor { return newScheduler(minorMax, majorMax) }}
}
