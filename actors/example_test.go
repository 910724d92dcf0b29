package actors_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/tablet"
)

// A store in an actor system that is the host's, for a caller that never sees an actor.
func Example() {
	dir, err := os.MkdirTemp("", "millrace")
	check(err)
	defer os.RemoveAll(dir)
	system := quietSystem()
	defer system.Shutdown()
	ctx := context.Background()
	store, err := actors.Open(ctx, dir, actors.WithActorSystem(system))
	check(err)
	check(store.CreateTable(ctx, "people", nil, map[string]string{"table.file.compress.type": "snappy"}))
	m := tablet.NewMutation([]byte("ada"))
	m.Put([]byte("name"), []byte("last"), nil, []byte("Lovelace"))
	check(store.Apply(ctx, "people", []*tablet.Mutation{m}))
	_, err = store.Compact(ctx, "people", actors.CompactOptions{})
	check(err)
	check(store.Close(ctx))

	store, err = actors.Open(ctx, dir, actors.WithActorSystem(system)) // all of it is there again
	check(err)
	scanner, err := store.Scan(ctx, "people", actors.ScanOptions{Range: tablet.ExactRow([]byte("ada"))})
	check(err)
	for e, err := range scanner.All() {
		check(err)
		fmt.Printf("%s %s:%s %s\n", e.Key.Row(), e.Key.Family(), e.Key.Qualifier(), e.Value)
	}
	scanner.Close()
	check(store.Close(ctx))
	// Output: ada name:last Lovelace
}

// quietSystem is what a host may have; the library's own prints log lines, and its throttle of dead letters has a goroutine
// that lives as long as the interval.
func quietSystem() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithDeadLetterThrottleInterval(time.Millisecond),
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
