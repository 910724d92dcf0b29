package iter

// treeOrder is a tree of losers over codes. A match between two sources compares their words: the code of the source's
// current entry against the entry that left the merge last, and below it the rank. Keys are looked at only when the codes
// of two words are equal.
//
// Node 0 holds the winner's word, nodes 1 to k-1 the loser of the match played there; the leaf of source j would be node
// k+j, the parent of node i is i/2. This is a tree for every k, a power of two or not.
//
// The losers on the winner's path were beaten by it, so all their codes are against it, and the smallest of them is the
// bound up to which the winner's further entries come before all other sources without another match.
//
// Source: Graefe and Do, Offset-value coding in database query processing; Knuth, The Art of Computer Programming 5.4.1.
type treeOrder struct{}

// tree is the state of a treeOrder, and stays with the merge.
type tree struct {
	nodes   []uint64 // words, as many as sources
	players []player // in their place, of a wideOrder
	leaves  []leaf   // one a source
	bound   uint64   // of the winner's entries behind its current one; 0 if not known
}

// leaf is where the tree stands in one source. It is what every switch touches, so it is small.
type leaf struct {
	codes []uint64 // of the current batch
	most  uint64   // the largest of codes[1:]
	at    uint32   // the source's next entry to leave
}

const (
	// rankBits are those of a word that do not belong to the code.
	rankBits = 0xff
	// spentWord, in place of a code, loses against all that are left.
	spentWord = ^uint64(rankBits)
	// maxRanks is how many sources' ranks fit in a word.
	maxRanks = rankBits + 1
)

func (treeOrder) start(m *Merge) {
	t, k := &m.tree, len(m.cursors)
	if cap(t.nodes) < k {
		t.nodes = make([]uint64, cap(m.cursors))
	}
	t.nodes, t.bound = t.nodes[:k], 0
	m.enterAll()
	t.nodes[0] = m.play(1)
}

func (treeOrder) fill(m *Merge, out []Run) (n int) {
	t := &m.tree
	word, bound := t.nodes[0], t.bound
	for n < len(out) && word < spentWord {
		src := uint16(word & rankBits)
		l := &t.leaves[src]
		out[n] = Run{Code: word &^ rankBits, Src: src, Lo: l.at}
		for {
			l.pass(bound)
			if int(l.at) == len(l.codes) {
				out[n].Hi = l.at
				return m.endBatch(out, n+1, src)
			}
			if word, bound = m.replay(src); uint16(word&rankBits) != src {
				break
			}
		}
		out[n].Hi = l.at
		n++
		bound = 0
	}
	t.nodes[0], t.bound = word, bound
	m.leftLast(out[:n])
	return n
}

func (treeOrder) refilled(m *Merge, src uint16) {
	t := &m.tree
	m.enterBatch(src)
	if t.nodes[0], t.bound = m.replay(src); uint16(t.nodes[0]&rankBits) != src {
		t.bound = 0
	}
}

// pass moves behind the current entry, and behind all that follow it with codes below the bound.
func (l *leaf) pass(bound uint64) {
	codes := l.codes
	if l.most < bound {
		l.at = uint32(len(codes))
		return
	}
	at := l.at + 1
	for int(at) < len(codes) && codes[at] < bound {
		at++
	}
	l.at = at
}

// word is what a source plays with, while its current entry's code is against what its opponents' codes are against.
func (l *leaf) word(src uint16) uint64 {
	if int(l.at) < len(l.codes) {
		return l.codes[l.at] | uint64(src)
	}
	return spentWord | uint64(src)
}

// play plays all matches below a node, and at it, and returns the winner's word. All codes are against one base.
func (m *Merge) play(node int) uint64 {
	nodes := m.tree.nodes
	if src := node - len(nodes); src >= 0 {
		return m.tree.leaves[src].word(uint16(src))
	}
	a, b := m.play(2*node), m.play(2*node+1)
	if (a^b)&^rankBits == 0 {
		nodes[node], a = m.untie(a, b)
		return a
	}
	nodes[node] = max(a, b)
	return min(a, b)
}

// replay plays all matches of a source whose last entry won them: those from its leaf to the root. It returns the winner's
// word, and if the source won again the bound of its further entries.
func (m *Merge) replay(src uint16) (word, bound uint64) {
	m.stats.HeapOps++
	nodes := m.tree.nodes
	word, bound = m.tree.leaves[src].word(src), spentWord
	for node := (len(nodes) + int(src)) / 2; node > 0; node /= 2 {
		other := nodes[node]
		if (word^other)&^rankBits == 0 {
			other, word = m.untie(word, other)
			nodes[node] = other
			bound = min(bound, other)
			continue
		}
		loser := max(word, other)
		nodes[node] = loser
		word = min(word, other)
		bound = min(bound, loser)
	}
	return word, bound &^ rankBits
}

// untie plays a match between words of one code, by the keys, and if these are equal by rank. The loser gets its code
// against the winner.
func (m *Merge) untie(a, b uint64) (loser, winner uint64) {
	if a >= spentWord {
		return a, b
	}
	c, larger := m.compareTied(uint16(a&rankBits), uint16(b&rankBits), a&^rankBits)
	if c > 0 || c == 0 && a > b {
		a, b = b, a
	}
	return larger | b&rankBits, a
}
