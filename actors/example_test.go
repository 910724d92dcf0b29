package actors_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"millrace/actors"
	"millrace/tablet"
)

// A store for a caller that never sees an actor.
func Example() {
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
	if err := store.CreateTable(ctx, "people", nil, map[string]string{"table.file.compress.type": "snappy"}); err != nil {
		log.Fatal(err)
	}
	m := tablet.NewMutation([]byte("ada"))
	m.Put([]byte("name"), []byte("last"), nil, []byte("Lovelace"))
	if err := store.Apply(ctx, "people", []*tablet.Mutation{m}); err != nil {
		log.Fatal(err)
	}
	scanner, err := store.Scan(ctx, "people", actors.ScanOptions{Range: tablet.ExactRow([]byte("ada"))})
	if err != nil {
		log.Fatal(err)
	}
	defer scanner.Close()
	for e, err := range scanner.All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s:%s %s\n", e.Key.Row(), e.Key.Family(), e.Key.Qualifier(), e.Value)
	}
	// Output: ada name:last Lovelace
}
