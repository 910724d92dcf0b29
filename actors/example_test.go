package actors_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"millrace/actors"
	"millrace/tablet"
)

// Write, flush, compact and read, without ever seeing an actor.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "millrace")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := actors.Open(ctx, dir)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close(ctx)

	// Two tablets: rows up to and with "m", and the rest. Properties are Accumulo's.
	splits := [][]byte{[]byte("m")}
	err = store.CreateTable(ctx, "rivers", splits, map[string]string{"table.file.compress.type": "lz4"})
	if err != nil {
		log.Fatal(err)
	}
	m := tablet.NewMutation([]byte("danube"))
	m.Put([]byte("geo"), []byte("km"), nil, []byte("2850"))
	m.Put([]byte("geo"), []byte("mouth"), nil, []byte("Black Sea"))
	if err := store.Apply(ctx, "rivers", []*tablet.Mutation{m}); err != nil {
		log.Fatal(err)
	}
	if _, err := store.Compact(ctx, "rivers", actors.CompactOptions{}); err != nil {
		log.Fatal(err)
	}

	scanner, err := store.Scan(ctx, "rivers", actors.ScanOptions{Range: tablet.ExactRow([]byte("danube"))})
	if err != nil {
		log.Fatal(err)
	}
	defer scanner.Close()
	for e, err := range scanner.All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s:%s = %s\n", e.Key.Row(), e.Key.Family(), e.Key.Qualifier(), e.Value)
	}
	// Output:
	// danube geo:km = 2850
	// danube geo:mouth = Black Sea
}
