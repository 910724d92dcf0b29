package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"millrace/tablet"
)

// OpKind is a kind of operation of a history.
type OpKind string

// The kinds of operation.
const (
	Write    OpKind = "write"   // mutations, in one call
	Flush    OpKind = "flush"   // all that is in memory to files
	Partial  OpKind = "partial" // compact some files
	Full     OpKind = "full"    // compact all files
	Split    OpKind = "split"   // cut a tablet in two
	Reopen   OpKind = "reopen"  // close the store, open it again, look at everything
	PowerCut OpKind = "powercut"
	Killed   OpKind = "kill"  // the process ends, the system's buffers stay
	Check    OpKind = "check" // look at everything
	Pause    OpKind = "pause" // let virtual time pass
)

// Op is one operation of a history. It is plain data: what it leaves open, which files say, it settles by Pick from what
// there is when its turn comes.
type Op struct {
	Kind       OpKind
	Number     int // in the history, from 1; values carry it
	Table      string
	Mutations  []*tablet.Mutation
	Durability tablet.Durability
	Row        []byte // where to split
	Pick       uint64
	For        time.Duration
}

func (op Op) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d: %s", op.Number, op.Kind)
	if op.Table != "" && op.Table != "t" {
		fmt.Fprintf(&b, " in %s", op.Table)
	}
	switch op.Kind {
	case Write:
		if op.Durability != tablet.DurabilityDefault {
			fmt.Fprintf(&b, " at %s", op.Durability)
		}
		for i, m := range op.Mutations {
			fmt.Fprintf(&b, "%s %q", [2]string{";", ""}[bit(i == 0)], m.Row())
			for u := range m.All() {
				fmt.Fprintf(&b, " %s", describe(u))
			}
		}
	case Split:
		fmt.Fprintf(&b, " at %q", op.Row)
	case Pause:
		fmt.Fprintf(&b, " for %v", op.For)
	}
	return b.String()
}

func describe(u tablet.Update) string {
	what := "put"
	if u.Deleted {
		what = "delete"
	}
	s := fmt.Sprintf("%s %s:%s", what, u.Family, u.Qualifier)
	if len(u.Visibility) > 0 {
		s += fmt.Sprintf("[%s]", u.Visibility)
	}
	if u.HasTimestamp {
		s += fmt.Sprintf("@%d", u.Timestamp)
	}
	return s
}

// History is a list of operations.
type History []Op

func (h History) String() string {
	var b strings.Builder
	for _, op := range h {
		fmt.Fprintln(&b, op)
	}
	return b.String()
}

// HistoryOptions say what histories are made of. Zero fields take defaults.
type HistoryOptions struct {
	Ops    int      // default 40
	First  int      // number of the first, for histories that are played beside others; default 1
	Tables []string // default {"t"}
	// Rows and Qualifiers bound the alphabet. Default 8 and 2; there are two families.
	Rows, Qualifiers int
	// Labels are the visibility labels that cells have. Default "", "a", "a&b".
	Labels []string
	// Deletes, Explicit and Batches are how many updates in a hundred are deletes, have an explicit timestamp, and how many
	// writes in a hundred are batches. Default 25, 30, 25; -1 for none.
	Deletes, Explicit, Batches int
	// Numbered gives every update its operation's number for a timestamp, so that two stores which have done the same hold the
	// same to the byte.
	Numbered bool
	// Durabilities are drawn from. Default: the table's own.
	Durabilities []tablet.Durability
	// Weights says how often each kind comes. Default DefaultWeights.
	Weights map[OpKind]int
}

// DefaultWeights gives every kind but crashes its share.
var DefaultWeights = map[OpKind]int{Write: 60, Flush: 10, Partial: 5, Full: 5, Split: 2, Reopen: 2, Check: 6, Pause: 5}

// CrashWeights adds crashes.
var CrashWeights = map[OpKind]int{Write: 60, Flush: 10, Partial: 5, Full: 5, Split: 2, Reopen: 2, PowerCut: 3, Killed: 3, Check: 6, Pause: 5}

// opKinds fixes the order in which weights count, as a map has none.
var opKinds = []OpKind{Write, Flush, Partial, Full, Split, Reopen, PowerCut, Killed, Check, Pause}

func (o HistoryOptions) withDefaults() HistoryOptions {
	def := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	def(&o.Ops, 40)
	def(&o.First, 1)
	def(&o.Rows, 8)
	def(&o.Qualifiers, 2)
	def(&o.Deletes, 25)
	def(&o.Explicit, 30)
	def(&o.Batches, 25)
	if o.Tables == nil {
		o.Tables = []string{"t"}
	}
	if o.Labels == nil {
		o.Labels = []string{"", "a", "a&b"}
	}
	if o.Weights == nil {
		o.Weights = DefaultWeights
	}
	return o
}

// NewHistory draws a history. Equal seeds and options give equal histories, and a longer one begins like a shorter one.
func NewHistory(seed uint64, o HistoryOptions) History {
	o = o.withDefaults()
	g := &generator{HistoryOptions: o, rand: stream(seed, "history")}
	h := make(History, 0, o.Ops)
	for n := range o.Ops {
		h = append(h, g.op(o.First+n))
	}
	return h
}

type generator struct {
	HistoryOptions
	rand *rand.Rand
}

func (g *generator) op(number int) Op {
	op := Op{Kind: g.kind(), Number: number, Table: g.Tables[g.rand.IntN(len(g.Tables))], Pick: g.rand.Uint64()}
	switch op.Kind {
	case Write:
		if len(g.Durabilities) > 0 {
			op.Durability = g.Durabilities[g.rand.IntN(len(g.Durabilities))]
		}
		op.Mutations = g.mutations(number)
	case Split:
		op.Row = g.row(g.rand.IntN(g.Rows))
	case Pause:
		op.For = time.Duration(g.rand.Int64N(int64(2 * time.Minute)))
	}
	return op
}

func (g *generator) kind() OpKind {
	sum := 0
	for _, k := range opKinds {
		sum += g.Weights[k]
	}
	at := g.rand.IntN(sum)
	for _, k := range opKinds {
		if at -= g.Weights[k]; at < 0 {
			return k
		}
	}
	return Write
}

// mutations are of different rows, as the store may apply those of a batch in any order but for a row's own.
func (g *generator) mutations(number int) []*tablet.Mutation {
	n := 1
	if g.percent(g.Batches) {
		n = 2 + g.rand.IntN(3)
	}
	var all []*tablet.Mutation
	for _, row := range g.rand.Perm(g.Rows)[:min(n, g.Rows)] {
		m := tablet.NewMutation(g.row(row))
		for range 1 + g.rand.IntN(3) {
			m.Add(g.update(m.Row(), number))
		}
		all = append(all, m)
	}
	return all
}

func (g *generator) update(row []byte, number int) tablet.Update {
	u := tablet.Update{
		Family: []byte{byte('f' + g.rand.IntN(2))}, Qualifier: fmt.Appendf(nil, "q%d", g.rand.IntN(g.Qualifiers)),
		Visibility: []byte(g.Labels[g.rand.IntN(len(g.Labels))]),
		Deleted:    g.percent(g.Deletes), HasTimestamp: g.percent(g.Explicit),
	}
	u.Value = Value(row, u.Family, u.Qualifier, number)
	if u.HasTimestamp {
		u.Timestamp = 1 + g.rand.Int64N(20)
	}
	if g.Numbered {
		u.Timestamp, u.HasTimestamp = int64(number), true
	}
	return u
}

func (g *generator) row(i int) []byte { return fmt.Appendf(nil, "r%02d", i) }

func (g *generator) percent(n int) bool { return g.rand.IntN(100) < n }
