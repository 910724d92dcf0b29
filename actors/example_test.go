package actors_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/tablet"
	"millrace/writer"
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

// Many mutations, added one by one: a batch writer gathers them in bounded memory, and Close says whether all are written. One
// that a constraint stands against is named, with its tablet; the others are written.
func ExampleStore_NewWriter() {
	dir, err := os.MkdirTemp("", "millrace")
	check(err)
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := actors.Open(ctx, dir)
	check(err)
	check(store.CreateTable(ctx, "rivers", [][]byte{[]byte("m")}, nil))

	w, err := store.NewWriter("rivers", writer.Options{MemoryBytes: 10 << 20})
	check(err)
	for _, river := range []struct{ name, km, visibility string }{{"danube", "2850", ""}, {"rhine", "1233", ""}, {"volga", "3530", "secret&"}} {
		m := tablet.NewMutation([]byte(river.name))
		m.Put([]byte("geo"), []byte("km"), []byte(river.visibility), []byte(river.km))
		check(w.Add(ctx, m))
	}
	var rejected *writer.RejectedError
	if err := w.Close(ctx); errors.As(err, &rejected) {
		for _, v := range rejected.Violations() {
			fmt.Printf("%d in %v: %s: %s\n", v.Mutations, v.Extent, v.Constraint, v.What)
		}
		for _, f := range rejected.Failed {
			fmt.Printf("not written: %s\n", f.Mutation.Row())
		}
	}
	fmt.Println(w.Stats().Acknowledged, "written")
	check(store.Close(ctx))
	// Output:
	// 1 in rivers;("m",+∞]: visibility: a visibility that does not parse
	// not written: volga
	// 2 written
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
