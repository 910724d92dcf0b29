package tablet

import (
	"fmt"
	"iter"

	"millrace/internal/wire"
)

// Mutation is an ordered list of updates to one row, applied together or not at all. The updates are kept packed, in
// the form Accumulo sends them, so that its size is exact and a small mutation is one piece of memory, whatever it holds.
//
// A Mutation is not safe for concurrent use while updates are added, and immutable afterwards.
type Mutation struct {
	row      []byte
	packed   []byte
	updates  int32
	labelled bool // some update has a visibility
}

// roomyMutation is a mutation with room for a short row and a small update behind it: one allocation, in neighbouring lines
// of the processor's cache, which is what most time goes into when many mutations pass from hand to hand.
type roomyMutation struct {
	Mutation
	room [roomBytes]byte
}

const (
	roomBytes = 72
	// leastRoom is what a row must leave for updates, else the room is not made.
	leastRoom = 32
)

// Update is one change of a mutation. Its slices are views of the mutation.
type Update struct {
	Family, Qualifier, Visibility []byte
	Value                         []byte
	Timestamp                     int64 // meaningful if HasTimestamp; else the tablet gives one
	HasTimestamp                  bool
	Deleted                       bool
}

// mutationOverhead is what Accumulo's client adds to a mutation's bytes to estimate the memory it takes.
const mutationOverhead = 238

// NewMutation starts a mutation of a row. The row is copied.
func NewMutation(row []byte) *Mutation {
	n := len(row)
	if n > roomBytes-leastRoom {
		return &Mutation{row: append([]byte(nil), row...)}
	}
	m := &roomyMutation{}
	copy(m.room[:], row)
	m.row, m.packed = m.room[:n:n], m.room[n:n]
	return &m.Mutation
}

// Row is the row changed. The caller must not modify it.
func (m *Mutation) Row() []byte { return m.row }

// Updates is the number of updates.
func (m *Mutation) Updates() int { return int(m.updates) }

// Labelled says whether any update has a visibility.
func (m *Mutation) Labelled() bool { return m.labelled }

// Add appends an update; its bytes are copied. A delete marker's value is dropped.
func (m *Mutation) Add(u Update) {
	if u.Deleted {
		u.Value = nil
	}
	b := m.packed
	if m.updates == 0 {
		if n := packedBytes(&u); n > cap(b) {
			b = make([]byte, 0, n)
		}
	}
	b = appendField(b, u.Family)
	b = appendField(b, u.Qualifier)
	b = appendField(b, u.Visibility)
	b = appendBool(b, u.HasTimestamp)
	if u.HasTimestamp {
		b = wire.AppendHVLong(b, u.Timestamp)
	}
	b = appendBool(b, u.Deleted)
	m.packed = appendField(b, u.Value)
	m.updates++
	m.labelled = m.labelled || len(u.Visibility) > 0
}

// Put adds a value whose timestamp the tablet gives.
func (m *Mutation) Put(family, qualifier, visibility, value []byte) {
	m.Add(Update{Family: family, Qualifier: qualifier, Visibility: visibility, Value: value})
}

// Delete adds a delete marker whose timestamp the tablet gives.
func (m *Mutation) Delete(family, qualifier, visibility []byte) {
	m.Add(Update{Family: family, Qualifier: qualifier, Visibility: visibility, Deleted: true})
}

// NumBytes is the mutation's packed size: its row and its updates.
func (m *Mutation) NumBytes() int { return len(m.row) + len(m.packed) }

// EstimatedMemory is what the mutation is charged in a batch writer's memory, by Accumulo's rule.
func (m *Mutation) EstimatedMemory() int { return m.NumBytes() + mutationOverhead }

// WarmAt is called before a look at each mutation by whoever walks over many. Now and then it reads a little of the next
// ones, in loops that do nothing else: where mutations lie scattered over memory, the processor waits for many of them at
// once then, and not for one after the other.
func WarmAt(mutations []*Mutation, i int) {
	if i%warmMutations == 0 {
		warm(mutations[i:min(i+warmMutations, len(mutations))])
	}
}

// warmMutations is how many mutations of a few hundred bytes fit the processor's nearest cache.
const warmMutations = 64

// warm must not be inlined: a compiler could see that its result is not used, and leave the reads out.
//
//go:noinline
func warm(mutations []*Mutation) (sum int) {
	for _, m := range mutations {
		sum += len(m.packed)
	}
	for _, m := range mutations {
		if n := len(m.row); n > 0 {
			sum += int(m.row[0])
		}
		if n := len(m.packed); n > 0 {
			sum += int(m.packed[0]) + int(m.packed[n-1])
		}
	}
	return sum
}

// All yields the updates in order.
func (m *Mutation) All() iter.Seq[Update] {
	return func(yield func(Update) bool) {
		b := m.packed
		for len(b) > 0 {
			var u Update
			b = unpack(b, &u)
			if !yield(u) {
				return
			}
		}
	}
}

func packedBytes(u *Update) int {
	n := fieldBytes(u.Family) + fieldBytes(u.Qualifier) + fieldBytes(u.Visibility) + fieldBytes(u.Value) + 2
	if u.HasTimestamp {
		n += wire.HVLongSize(u.Timestamp)
	}
	return n
}

func fieldBytes(f []byte) int { return wire.HVLongSize(int64(len(f))) + len(f) }

func appendField(dst, f []byte) []byte {
	return append(wire.AppendHVLong(dst, int64(len(f))), f...)
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// unpack reads one update from bytes that Add wrote, and returns the rest.
func unpack(b []byte, u *Update) []byte {
	u.Family, b = unpackField(b)
	u.Qualifier, b = unpackField(b)
	u.Visibility, b = unpackField(b)
	u.HasTimestamp, b = b[0] == 1, b[1:]
	if u.HasTimestamp {
		v, n := mustVLong(b)
		u.Timestamp, b = v, b[n:]
	}
	u.Deleted, b = b[0] == 1, b[1:]
	u.Value, b = unpackField(b)
	return b
}

func unpackField(b []byte) (field, rest []byte) {
	if v, ok := wire.HVLong1(b); ok {
		end := 1 + int(v)
		return b[1:end:end], b[end:]
	}
	v, n := mustVLong(b)
	return b[n : n+int(v) : n+int(v)], b[n+int(v):]
}

func mustVLong(b []byte) (int64, int) {
	v, n, err := wire.HVLong(b)
	if err != nil {
		panic(fmt.Sprintf("tablet: mutation damaged in memory: %v", err))
	}
	return v, n
}
