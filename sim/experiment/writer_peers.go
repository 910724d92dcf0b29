package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/writer"
)

// Peer is a store that takes what a batch writer sends, to be compared with others.
type Peer struct {
	Name string
	// Open makes an empty store in an empty directory, for rows that are cut into tablets at the splits.
	Open func(ctx context.Context, dir string, splits [][]byte) (PeerStore, error)
	// Times is how many times its throughput the first store is to reach; 0: nothing is said of it.
	Times float64
}

// PeerStore is the store of one run.
type PeerStore interface {
	// NewWriter returns a batch writer to the store. A mutation is acknowledged once it was given to the log, not synced.
	NewWriter(o writer.Options) (*writer.BatchWriter, error)
	// Each calls f with every entry, keys ascending, once the writer was closed. Arguments are views until f returns.
	Each(ctx context.Context, f func(k *tablet.Key, value []byte) error) error
	Close(ctx context.Context) error
}

// PeersOptions says what Peers measures. A zero field means its default.
type PeersOptions struct {
	Mutations   int     // Default 1,000,000.
	Threads     []int   // Default 1, 4, 16.
	MemoryBytes []int64 // of the writer; default 1, 10, 100 MiB
	Tablets     int     // Default 8.
	Runs        int     // Default 5.
	WarmUps     int     // Default 1; negative for none.
	Seed        uint64
}

func (o PeersOptions) withDefaults() PeersOptions {
	if len(o.Threads) == 0 {
		o.Threads = []int{1, 4, 16}
	}
	w := WriterOptions{Mutations: o.Mutations, Threads: o.Threads, MemoryBytes: o.MemoryBytes, StoreTablets: o.Tablets, Runs: o.Runs, WarmUps: o.WarmUps}.withDefaults()
	return PeersOptions{Mutations: w.Mutations, Threads: w.Threads, MemoryBytes: w.MemoryBytes, Tablets: w.StoreTablets, Runs: w.Runs, WarmUps: w.WarmUps, Seed: o.Seed}
}

// Validate names the first field that is wrong, with its value.
func (o PeersOptions) Validate() error {
	return WriterOptions{Mutations: o.Mutations, Threads: o.Threads, MemoryBytes: o.MemoryBytes, StoreTablets: o.Tablets, Runs: o.Runs}.Validate()
}

// PeersDocument is what Peers found. The field apply of its rows names the store.
type PeersDocument struct {
	Document[WriterRow]
	// Ratios are the throughput of the first store over each other's, which Over names.
	Ratios []WriterRatio `json:"ratios"`
	Clock  ClockCost     `json:"clock"`
	// Bars are statements about times. They fail nothing.
	Bars []Check `json:"bars"`
}

// Peers has one kind of batch writer, actors, write the same mutations to several stores in turn, each time to an empty one in
// a directory of its own among the system's temporary files. After the first turn of each place all entries of each store are
// held against what was written. progress may be nil; it is called from one goroutine.
func Peers(ctx context.Context, o PeersOptions, peers []Peer, progress func(Phase)) (*PeersDocument, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if progress == nil {
		progress = func(Phase) {}
	}
	mutations, err := makeMutations(ctx, o.Mutations, o.Seed, progress)
	if err != nil {
		return nil, err
	}
	r := &peersRun{o: o, peers: peers, want: writtenDigest(mutations), turns: turns{
		adders: adders{clock: clock.Real{}}, mutations: mutations, warmUps: o.WarmUps, runs: o.Runs, progress: progress,
	}}
	r.doc = &PeersDocument{Document: Document[WriterRow]{
		Schema: "millrace.sim.peers/1", Command: "peers", Settings: peersSettings(o, peers), Machine: ThisMachine(),
	}, Clock: clockCost(r.adders.clock)}
	if err := r.measure(ctx); err != nil {
		return nil, err
	}
	c := &r.doc.Checks
	*c = check(*c, "runs after which every mutation was acknowledged", r.settled, r.made)
	*c = check(*c, "stores whose entries are those that were written", r.alike, r.read)
	r.bars()
	return r.doc, nil
}

func (r *peersRun) bars() {
	r.doc.Bars = []Check{}
	for _, p := range r.peers {
		s := newSpan()
		for _, ratio := range r.doc.Ratios {
			if ratio.Over == p.Name && p.Times > 0 {
				s.add(ratio.Median)
			}
		}
		name := fmt.Sprintf("times the throughput of %s has %s, where it is fewest", p.Name, r.peers[0].Name)
		r.doc.Bars = within(r.doc.Bars, name, s, p.Times, unbounded)
	}
}

func peersSettings(o PeersOptions, peers []Peer) []Setting {
	var memory, names []string
	for _, m := range o.MemoryBytes {
		memory = append(memory, strconv.FormatInt(m, 10))
	}
	for _, p := range peers {
		names = append(names, p.Name)
	}
	return []Setting{
		{"mutations", strconv.Itoa(o.Mutations)}, {"threads", joinInts(o.Threads)}, {"memory", strings.Join(memory, ",")},
		{"tablets", strconv.Itoa(o.Tablets)}, {"stores", strings.Join(names, ",")}, {"runs", strconv.Itoa(o.Runs)},
		{"warm-ups", strconv.Itoa(max(o.WarmUps, 0))}, {"seed", strconv.FormatUint(o.Seed, 10)},
	}
}

// peersRun is one run of Peers.
type peersRun struct {
	o     PeersOptions
	peers []Peer
	turns
	want        entriesDigest
	doc         *PeersDocument
	read, alike int // stores read, and those that had what was written
}

func (r *peersRun) measure(ctx context.Context) error {
	p := Phase{Name: "into stores", Total: int64(len(r.o.MemoryBytes) * len(r.o.Threads) * r.each() * len(r.peers)), Unit: "runs"}
	for _, memory := range r.o.MemoryBytes {
		for _, threads := range r.o.Threads {
			c := &writerCell{at: WriterPlace{Threads: threads, MemoryBytes: memory, Tablets: r.o.Tablets, Map: mapWarm}}
			for _, peer := range r.peers {
				c.lanes = append(c.lanes, writerLane{name: peer.Name, variant: writer.Actors, latencies: newHistogram()})
			}
			err := r.inTurn(c, &p, func(lane, turn int) error {
				if err := r.turn(ctx, c, lane, turn); err != nil {
					return fmt.Errorf("%s: %w", c.lanes[lane].name, err)
				}
				return nil
			})
			if err != nil {
				return err
			}
			r.add(c)
		}
	}
	return nil
}

func (r *peersRun) add(c *writerCell) {
	for i := range c.lanes {
		row := c.lanes[i].row(c.at, r.o.Mutations)
		row.Variant, row.Apply = writer.Actors.String(), c.lanes[i].name
		r.doc.Rows = append(r.doc.Rows, row)
	}
	r.doc.Ratios = append(r.doc.Ratios, c.ratiosOf(r.peers[0].Name)...)
}

// turn is one run of one store, which is gone afterwards.
func (r *peersRun) turn(ctx context.Context, c *writerCell, lane, number int) (err error) {
	path, _, cleanup, err := vfs.TempDir("millrace-peers")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cleanup()) }()
	s, err := r.peers[lane].Open(ctx, path, writerSplits(r.o.Mutations, r.o.Tablets))
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err = errors.Join(err, s.Close(ctx))
	}()
	w, err := s.NewWriter(writer.Options{MemoryBytes: c.at.MemoryBytes})
	if err != nil {
		return err
	}
	t, err := r.run(ctx, w, c.at.Threads)
	if err != nil {
		return err
	}
	r.note(&c.lanes[lane], t, c.at.Threads, number)
	if number > 0 {
		return nil
	}
	r.read++
	d, err := readDigest(ctx, s)
	if d == r.want {
		r.alike++
	}
	return err
}

func readDigest(ctx context.Context, s PeerStore) (entriesDigest, error) {
	var d digester
	var before []byte
	err := s.Each(ctx, func(k *tablet.Key, value []byte) error {
		if slices.Compare(before, k.Row()) > 0 {
			return fmt.Errorf("row %q comes after %q: %w", k.Row(), before, tablet.ErrExpectation)
		}
		before = append(before[:0], k.Row()...)
		d.add(k.Row(), k.Family(), k.Qualifier(), k.Visibility(), value)
		return nil
	})
	return d.digest(), err
}
