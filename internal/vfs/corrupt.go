package vfs

import (
	"fmt"
	"math/rand/v2"
	"sync"
)

// Damage is a way in which bytes go wrong without an error.
type Damage uint8

// The kinds. The first five are done to what is read, the file itself stays as it is; the last two to what is written.
const (
	// DamageBit flips a bit, DamageByte changes a byte, DamageSector fills a sector with random bytes.
	DamageBit Damage = iota
	DamageByte
	DamageSector
	// DamageSwap gives the bytes of another block of the file, and those of this one there.
	DamageSwap
	// DamageOlder gives the bytes that the file of this name has in CorruptRule.Older; zeros where it has none.
	DamageOlder
	// DamageDrop loses a write: there are zeros in its place.
	DamageDrop
	// DamageMisplace loses a write too, and puts its bytes over earlier ones of the file. The file must lie in a MemFS below.
	DamageMisplace

	damages
)

var damageNames = [damages]string{"bit", "byte", "sector", "swap", "older", "drop", "misplace"}

// Damages are all kinds.
func Damages() []Damage {
	all := make([]Damage, damages)
	for i := range all {
		all[i] = Damage(i)
	}
	return all
}

func (d Damage) String() string { return damageNames[d] }

func (d Damage) op() Op {
	if d == DamageDrop || d == DamageMisplace {
		return OpWrite
	}
	return OpRead
}

// CorruptRule says which reads or writes go wrong, and how.
type CorruptRule struct {
	Damage Damage
	Class  Class
	Name   string // as in a Rule
	// N is the number of the matching call that goes wrong, from 1; 0 is 1. Sticky makes every one from there on.
	N      int
	Sticky bool
	// Fixed puts the damage at the byte At of the file (DamageSwap: at its block), for every matching read that meets it,
	// whatever N says: the disk itself is damaged there. Else the place is drawn anew within each read.
	Fixed bool
	At    int64
	// Block is the size that DamageSwap exchanges; 0 is PageBytes. With is the number of the block that takes part, when
	// Fixed; else it is drawn.
	Block int64
	With  int64
	Older FS
}

// CorruptHit is one damage that was done: the bytes differ from what they should be.
type CorruptHit struct {
	Call
	Damage Damage
	// At is the first byte of the file that is wrong.
	At int64
}

func (h CorruptHit) String() string { return fmt.Sprintf("%v: %s at %d", h.Call, h.Damage, h.At) }

// CorruptFS passes calls on and lets bytes go wrong on the way. It is safe for concurrent use.
type CorruptFS struct {
	layer

	mu    sync.Mutex
	rng   *rand.Rand
	rules []*counter[CorruptRule]
	hits  []CorruptHit
}

// Corrupt wraps an FS. All rules that a call meets act, in order. It panics when a pattern is malformed.
func Corrupt(inner FS, seed uint64, rules ...CorruptRule) *CorruptFS {
	c := &CorruptFS{rng: rand.New(rand.NewPCG(seed, 1))}
	c.layer = layer{inner: inner, around: c.pass}
	c.Add(rules...)
	return c
}

// Add adds rules, which count from now.
func (c *CorruptFS) Add(rules ...CorruptRule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range rules {
		mustPattern("Corrupt", r.Name)
		c.rules = append(c.rules, &counter[CorruptRule]{rule: r})
	}
}

// Heal takes all rules away.
func (c *CorruptFS) Heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rules = nil
}

// Hits are the damages done, in order.
func (c *CorruptFS) Hits() []CorruptHit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]CorruptHit(nil), c.hits...)
}

// due returns the rules that a call meets, each with a source of randomness of its own.
func (c *CorruptFS) due(call Call) (rules []CorruptRule, rngs []*rand.Rand) {
	if call.Op != OpRead && call.Op != OpWrite || call.Bytes == 0 {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.rules {
		match := Rule{Op: r.rule.Damage.op(), Class: r.rule.Class, Name: r.rule.Name}
		if match.matches(call) && (due(&r.seen, r.rule.N, r.rule.Sticky) || r.rule.Fixed) {
			rules = append(rules, r.rule)
			rngs = append(rngs, rand.New(rand.NewPCG(c.rng.Uint64(), 0)))
		}
	}
	return rules, rngs
}

func (c *CorruptFS) hit(call Call, d Damage, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hits = append(c.hits, CorruptHit{call, d, at})
}

func (c *CorruptFS) pass(p *passage) error {
	rules, rngs := c.due(p.Call)
	if len(rules) == 0 {
		return p.pass()
	}
	if p.Op == OpWrite {
		return c.write(p, rules[0].Damage, rngs[0])
	}
	err := p.pass()
	for i, r := range rules {
		before := append([]byte(nil), p.buf[:p.n]...)
		if rerr := r.read(p, rngs[i]); rerr != nil {
			return rerr
		}
		if at := firstDifference(before, p.buf[:p.n]); at >= 0 {
			c.hit(p.Call, r.Damage, p.Off+int64(at))
		}
	}
	return err
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// write does a write of which nothing reaches its place.
func (c *CorruptFS) write(p *passage, d Damage, rng *rand.Rand) error {
	at := p.file.written
	if err := p.passPart(make([]byte, len(p.buf))); err != nil {
		return err
	}
	c.hit(p.Call, d, at)
	if d != DamageMisplace || at == 0 {
		return nil
	}
	below := memFileBelow(p.file)
	if below == nil {
		panic("vfs.Corrupt: misplace: there is no MemFS below")
	}
	below.overwrite(p.buf, rng.Int64N(at))
	return nil
}
