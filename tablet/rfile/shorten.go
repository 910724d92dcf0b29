package rfile

import "millrace/tablet"

// shorten returns a key for the index that separates two neighbours, prev <= next: at least prev, and below next unless
// it is prev itself, which is returned when nothing shorter separates them. The key need not exist in the data; its
// timestamp is 0. It borrows prev's bytes or has bytes of its own.
//
// Source: Accumulo KeyShortener; the result is the same, so that files come out alike.
func shorten(prev, next *tablet.Key) tablet.Key {
	var f tablet.Fields
	for i, parts := range [3][2][]byte{
		{prev.Row(), next.Row()},
		{prev.Family(), next.Family()},
		{prev.Qualifier(), next.Qualifier()},
	} {
		own := [3]*[]byte{&f.Row, &f.Family, &f.Qualifier}[i]
		*own = parts[0]
		if string(parts[0]) == string(parts[1]) {
			continue
		}
		var ok bool
		if *own, ok = between(parts[0], parts[1]); !ok {
			return *prev
		}
		short := tablet.NewKey(f)
		if tablet.Compare(prev, &short) < 0 && tablet.Compare(&short, next) < 0 {
			return short
		}
		return *prev
	}
	return *prev
}

// between returns a byte string above p and below k, for p < k, if the rules find one.
func between(p, k []byte) ([]byte, bool) {
	i := tablet.CommonPrefix(p, k)
	if i == len(p) { // p is a proper prefix of k
		return append(p[:i:i], 0), len(k) > len(p)+1 || k[len(p)] != 0
	}
	if k[i]-p[i] > 1 {
		return append(p[:i:i], p[i]+1), true
	}
	for j := i + 1; j < len(p); j++ {
		if p[j] != 0xff {
			return append(p[:j:j], 0xff), true
		}
	}
	return append(p[:len(p):len(p)], 0), true
}
