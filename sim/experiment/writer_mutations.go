package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"

	"millrace/tablet"
)

// makeMutations are all rows from 0 on in a random order, each with one update. With the row it takes 32 bytes packed, and
// by Accumulo's estimate 270 in a writer's memory, as the ticket's numbers of sets say.
func makeMutations(ctx context.Context, n int, seed uint64, progress func(Phase)) ([]*tablet.Mutation, error) {
	const lookEach = 1 << 16
	rng := rand.New(rand.NewPCG(seed, 1755))
	all := make([]*tablet.Mutation, n)
	for i, row := range rng.Perm(n) {
		if i%lookEach == 0 {
			progress(Phase{Name: "mutations", Done: int64(i), Total: int64(n), Unit: "mutations"})
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
		m := tablet.NewMutation(fmt.Appendf(nil, "%010d", row))
		m.Put([]byte("cf"), []byte("qual"), nil, fmt.Appendf(nil, "%010d", n-1-row))
		all[i] = m
	}
	return all, nil
}
