package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"millrace/actors"
	"millrace/tablet"
)

// updateSpec is one update of a mutation, as a template where it is one of fill.
type updateSpec struct {
	cf, cq, cv, value byteString
	ts                int64
	hasTS, tsIsI      bool
	deleted           bool
}

// parseUpdate takes the fields that put, the updates of mutate and fill have in common.
func parseUpdate(o *object, template bool) (u updateSpec) {
	u.cf, u.cq, u.cv = o.bytes("cf", template), o.bytes("cq", template), o.bytes("cv", template)
	if raw := o.fields["ts"]; template && string(raw) == `"i"` {
		o.take("ts")
		u.hasTS, u.tsIsI = true, true
	} else {
		u.ts, u.hasTS = o.number("ts", -1<<63)
	}
	return u
}

func (u *updateSpec) addTo(m *tablet.Mutation, i int64) {
	ts := u.ts
	if u.tsIsI {
		ts = i
	}
	m.Add(tablet.Update{
		Family: u.cf.append(nil, i), Qualifier: u.cq.append(nil, i), Visibility: u.cv.append(nil, i), Value: u.value.append(nil, i),
		Timestamp: ts, HasTimestamp: u.hasTS, Deleted: u.deleted,
	})
}

// mutateStep applies one mutation: put, delete, mutate.
type mutateStep struct {
	row     byteString
	updates []updateSpec
	expect  outcome
}

func parsePut(o *object, _ string) step {
	o.must("row")
	u := parseUpdate(o, false)
	if u.deleted = o.kind == "delete"; !u.deleted {
		u.value = o.bytes("value", false)
	}
	return &mutateStep{row: o.bytes("row", false), updates: []updateSpec{u}, expect: parseOutcome(o)}
}

func parseMutate(o *object, number string) step {
	s := parseMutation(o, number)
	return &s
}

// parseMutation takes row, updates and expect.
func parseMutation(o *object, number string) (m mutateStep) {
	o.must("row", "updates")
	m.row, m.expect = o.bytes("row", false), parseOutcome(o)
	for i, raw := range o.list("updates") {
		f := newObject(raw)
		u := parseUpdate(f, false)
		u.deleted = f.flag("delete", false)
		u.value = f.bytes("value", false)
		if err := f.done(); err != nil {
			o.failf("update %s.%d: %w", number, i, err)
		}
		m.updates = append(m.updates, u)
	}
	return m
}

func (s *mutateStep) mutation(i int64) *tablet.Mutation {
	m := tablet.NewMutation(s.row.append(nil, i))
	for k := range s.updates {
		s.updates[k].addTo(m, i)
	}
	return m
}

func (s *mutateStep) run(ctx context.Context, r *runner) error {
	return s.expect.of(s.expect.try(ctx, func() error {
		return r.store.Apply(ctx, tableName, []*tablet.Mutation{s.mutation(0)})
	}))
}

// batchStep hands mutations to one writer with a buffer of its own.
type batchStep struct {
	bufferBytes int
	mutations   []mutateStep
}

func parseBatch(o *object, number string) step {
	o.must("mutations")
	s := &batchStep{bufferBytes: o.count("bufferBytes", 1, 1<<20)}
	o.choice("end", "close", "flush") // a writer that is given up afterwards: both wait for all
	for i, raw := range o.list("mutations") {
		f := newObject(raw)
		part := fmt.Sprintf("%s.%d", number, i)
		m := parseMutation(f, part)
		if err := f.done(); err != nil {
			o.failf("%w", at(part, err))
		}
		s.mutations = append(s.mutations, m)
	}
	return s
}

// run sends what is buffered whenever the buffer is full, without waiting for what was sent before, and waits at the end.
func (s *batchStep) run(ctx context.Context, r *runner) error {
	expected := map[*tablet.Mutation]outcome{}
	var acks []*actors.Ack
	var buffer []*tablet.Mutation
	bytes := 0
	send := func() error {
		ack, err := r.store.ApplyAsync(ctx, tableName, buffer)
		if err != nil {
			return err
		}
		acks, buffer, bytes = append(acks, ack), nil, 0
		return nil
	}
	for i := range s.mutations {
		m := s.mutations[i].mutation(0)
		expected[m] = s.mutations[i].expect
		buffer = append(buffer, m)
		if bytes += m.EstimatedMemory(); bytes >= s.bufferBytes {
			if err := send(); err != nil {
				return err
			}
		}
	}
	if err := send(); err != nil {
		return err
	}
	return settle(ctx, acks, expected)
}

// settle waits for a writer's mutations and holds those refused against those that should be.
func settle(ctx context.Context, acks []*actors.Ack, expected map[*tablet.Mutation]outcome) error {
	for _, ack := range acks {
		err := ack.Wait(ctx)
		var refused *actors.RefusedError
		if errors.As(err, &refused) {
			for _, f := range refused.Refused {
				if expected[f.Mutation] != wantError {
					return fmt.Errorf("row %s: %w", quoted(f.Mutation.Row()), f.Err)
				}
				delete(expected, f.Mutation)
			}
		} else if err != nil {
			return err
		}
	}
	for m, want := range expected {
		if want == wantError {
			return mismatchf("an error", "no error for the mutation of row %s", quoted(m.Row()))
		}
	}
	return nil
}

// fillStep applies a mutation for each number of a series.
type fillStep struct {
	mutateStep
	from, to, by int64
}

func parseFill(o *object, _ string) step {
	o.must("from", "to", "row")
	s := &fillStep{by: 1}
	s.from, _ = o.number("from", -1<<63)
	s.to, _ = o.number("to", -1<<63)
	if by, ok := o.number("step", -1<<63); ok {
		if s.by = by; by == 0 {
			o.failf("field %q is 0", "step")
		}
	}
	u := parseUpdate(o, true)
	u.value = o.bytes("value", true)
	u.deleted = o.choice("kind", "put", "delete") == "delete"
	s.row, s.updates = o.bytes("row", true), []updateSpec{u}
	return s
}

func (s *fillStep) run(ctx context.Context, r *runner) error {
	size := r.mode.group()
	if r.script.fails() {
		size = 1 // what is tried again must not be there in part
	}
	var group []*tablet.Mutation
	for i, more := s.from, s.holds(s.from); more; {
		group = append(group, s.mutation(i))
		next := i + s.by
		more = s.holds(next) && (next > i) == (s.by > 0) // or it has run over
		i = next
		if len(group) < size && more {
			continue
		}
		if err := wantOK.try(ctx, func() error { return r.store.Apply(ctx, tableName, group) }); err != nil {
			return err
		}
		group = nil
	}
	return nil
}

func (s *fillStep) holds(i int64) bool {
	if s.by > 0 {
		return i <= s.to
	}
	return i >= s.to
}

// parallelStep runs lists of writes at the same time.
type parallelStep struct{ threads [][]step }

func parseParallel(o *object, number string) step {
	o.must("threads")
	s := &parallelStep{}
	for t, raw := range o.list("threads") {
		list, err := listOf(raw)
		if err != nil {
			o.failf("field %q: %w", "threads", err)
		}
		var thread []step
		for i, raw := range list {
			part := number + "." + strconv.Itoa(t) + "." + strconv.Itoa(i)
			one, err := parseWrite(part, raw)
			if err != nil {
				o.failf("%w", at(part, err))
			}
			thread = append(thread, one)
		}
		s.threads = append(s.threads, thread)
	}
	return s
}

func parseWrite(part string, raw json.RawMessage) (step, error) {
	one, err := parseStep(part, raw)
	if err != nil {
		return nil, err
	}
	switch one.(type) {
	case *mutateStep, *batchStep, *fillStep:
		return one, nil
	}
	return nil, fmt.Errorf("only writes may run in parallel")
}

func (s *parallelStep) run(ctx context.Context, r *runner) error {
	errs := make([]error, len(s.threads))
	var wait sync.WaitGroup
	for t, thread := range s.threads {
		wait.Go(func() {
			for i, one := range thread {
				if err := one.run(ctx, r); err != nil {
					errs[t] = at(fmt.Sprintf("%s.%d.%d", r.at, t, i), err)
					return
				}
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
