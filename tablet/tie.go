package tablet

// CompareTied orders two keys that have the same code against the same base. It looks at them only behind the code's
// chunk, up to which they are equal. It returns -1, 0 or +1, and the code of the larger key against the smaller.
//
// Source: Graefe and Do, as in code.go: after a comparison the loser's code is against the winner.
func CompareTied(a, b *Key, code uint64) (c int, larger uint64) {
	if code < CodeSameCell {
		return compareTiedVersions(a, b)
	}
	// Codes of keys that were not in order lie; they must not lead out of a key.
	from := min(tiedUntil(a, code), uint32(len(a.data)), uint32(len(b.data)))
	f, shared, differs := firstDifferenceFrom(a, b, from)
	if !differs {
		return compareTiedVersions(a, b)
	}
	x, y := a.field(f), b.field(f)
	if shared == uint(len(x)) || shared < uint(len(y)) && x[shared] < y[shared] {
		return -1, bytesCode(f, shared, y)
	}
	return 1, bytesCode(f, shared, x)
}

// compareTiedVersions orders keys of one cell.
func compareTiedVersions(a, b *Key) (c int, larger uint64) {
	c = compareVersion(a, b)
	if c <= 0 {
		return c, versionCode(a.ts, b.ts, a.deleted, b.deleted)
	}
	return c, versionCode(b.ts, a.ts, b.deleted, a.deleted)
}

// tiedUntil is the number of leading bytes that every key of a code in a byte field shares with k, which has that code
// too: to the end of the chunk, or of the field if it ends there.
func tiedUntil(k *Key, code uint64) uint32 {
	until := uint32(CodeShared(code)) + uint32(code>>8&7)
	switch uint(CodeField(code)) {
	case fieldFamily:
		until += k.ends.Row
	case fieldQualifier:
		until += k.ends.Family
	case fieldVisibility:
		until += k.ends.Qualifier
	}
	return until
}
