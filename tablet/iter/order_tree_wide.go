package iter

// wideOrder is a treeOrder of more sources than a word has room for their ranks. Its matches compare two numbers, and take
// branches that are hard to foresee; else it is the same.
type wideOrder struct{}

// player is a word with room for every rank.
type player struct {
	code uint64
	src  uint16
}

func (wideOrder) start(m *Merge) {
	t := &m.tree
	m.enterAll()
	if cap(t.players) < len(m.cursors) {
		t.players = make([]player, cap(m.cursors))
	}
	t.players = t.players[:len(m.cursors)]
	t.players[0], t.bound = m.playWide(1), 0
}

func (wideOrder) fill(m *Merge, out []Run) (n int) {
	t := &m.tree
	first, bound := t.players[0], t.bound
	for n < len(out) && first.code < spentWord {
		src := first.src
		l := &t.leaves[src]
		out[n] = Run{Code: first.code, Src: src, Lo: l.at}
		for {
			l.pass(bound)
			if int(l.at) == len(l.codes) {
				out[n].Hi = l.at
				return m.endBatch(out, n+1, src)
			}
			if first, bound = m.replayWide(src); first.src != src {
				break
			}
		}
		out[n].Hi = l.at
		n++
		bound = 0
	}
	t.players[0], t.bound = first, bound
	m.leftLast(out[:n])
	return n
}

func (wideOrder) refilled(m *Merge, src uint16) {
	t := &m.tree
	m.enterBatch(src)
	if t.players[0], t.bound = m.replayWide(src); t.players[0].src != src {
		t.bound = 0
	}
}

func (t *tree) player(src uint16) player {
	return player{t.leaves[src].word(0), src}
}

func (m *Merge) playWide(node int) player {
	players := m.tree.players
	if src := node - len(players); src >= 0 {
		return m.tree.player(uint16(src))
	}
	a, b := m.playWide(2*node), m.playWide(2*node+1)
	players[node], a = m.match(a, b)
	return a
}

func (m *Merge) replayWide(src uint16) (first player, bound uint64) {
	m.stats.HeapOps++
	players := m.tree.players
	first, bound = m.tree.player(src), spentWord
	for node := (len(players) + int(src)) / 2; node > 0; node /= 2 {
		players[node], first = m.match(first, players[node])
		bound = min(bound, players[node].code)
	}
	return first, bound
}

// match plays a match. The loser of a tie gets its code against the winner.
func (m *Merge) match(a, b player) (loser, winner player) {
	if a.code != b.code {
		if a.code < b.code {
			return b, a
		}
		return a, b
	}
	if a.code >= spentWord {
		return a, b
	}
	c, larger := m.compareTied(a.src, b.src, a.code)
	if c > 0 || c == 0 && a.src > b.src {
		a, b = b, a
	}
	b.code = larger
	return b, a
}
