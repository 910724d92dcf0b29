package rfile

import (
	"bytes"
	"math"
	"strings"

	"millrace/tablet"
)

// functor says which leading fields of a key a Bloom filter is about: 1 row, 2 row and family, 3 the qualifier, too. Their
// bytes are put one after the other.
type functor int

const functorPackage = "org.apache.accumulo.core.file.keyfunctor."

var functors = [...]string{1: "RowFunctor", 2: "ColumnFamilyFunctor", 3: "ColumnQualifierFunctor"}

// functorOf finds a functor by its class, with or without the package; 0 is one that is not known here.
func functorOf(class string) functor {
	class = strings.TrimPrefix(class, functorPackage)
	for i, name := range functors {
		if i > 0 && name == class {
			return functor(i)
		}
	}
	return 0
}

func (f functor) class() string { return functorPackage + functors[f] }

// of is what the filter knows of a key: a view of it.
func (f functor) of(k *tablet.Key) []byte {
	e := k.Ends()
	return k.Data()[:[...]uint32{0, e.Row, e.Family, e.Qualifier}[f]]
}

// covers returns the prefix that all keys of a range share, if there is one. A range made for one row, one family of it
// or one column ends where the smallest field behind begins and is of that kind, too. That such a range strictly holds
// one key more, a delete marker of the greatest timestamp in a column of no name behind the border, does not count: all
// that it could hide lies outside. Source: Accumulo's keyfunctors.
func (f functor) covers(r *tablet.Range) (prefix []byte, ok bool) {
	start, hasStart := r.Start()
	end, hasEnd := r.End()
	if !hasStart || !hasEnd {
		return nil, false
	}
	from := [...][]byte{start.Key.Row(), start.Key.Family(), start.Key.Qualifier()}
	to := [...][]byte{end.Key.Row(), end.Key.Family(), end.Key.Qualifier()}
	last := int(f) - 1
	for i := range last {
		if !bytes.Equal(from[i], to[i]) {
			return nil, false
		}
	}
	prefix = f.of(&start.Key)
	if bytes.Equal(from[last], to[last]) {
		return prefix, true
	}
	n := len(from[last])
	follows := len(to[last]) == n+1 && to[last][n] == 0 && bytes.HasPrefix(to[last], from[last])
	bare := end.Key.Size() == len(f.of(&end.Key)) && end.Key.Timestamp() == math.MaxInt64 && !end.Inclusive
	return prefix, follows && bare
}
