package rfile

// Bounds of the fields that entries of the usual shape have; see skim.simple. Longer ones are read one by one.
const (
	maxKept  = 128                // a field keeps fewer bytes of the one before
	maxFresh = 64                 // and has fewer of its own
	inShort  = maxKept + maxFresh // so many of a field are always in its array

	moveBytes = 16                  // are moved at once, however few are wanted
	fieldRoom = 1 + 255 + moveBytes // a position of one byte, and a move from there
	windowLen = 512 + 2*moveBytes
	inWindow  = 512 - 1 // mask of a position in the window
)

// window is what an entry of the usual shape is read from. Positions in it are masked, which changes none of them, and
// proves to the compiler that they lie inside.
type window [windowLen]byte

// skimField is a field of the last key.
type skimField struct {
	bytes uint // its length
	// short holds its first bytes, from 1 on, so that one stored whole is moved along with the byte of its length.
	short [fieldRoom]byte
	long  []byte // all of it, when there are more than fit
}

// view is the field, until it changes.
func (f *skimField) view() []byte {
	if f.bytes > inShort {
		return f.long[:f.bytes]
	}
	return f.short[1 : 1+f.bytes]
}

// set makes the field its first keep bytes and some more.
func (f *skimField) set(keep int, more []byte) {
	n := keep + len(more)
	if n > inShort {
		f.long = append(append(f.long[:0], f.view()[:keep]...), more...)
		copy(f.short[1:1+inShort], f.long)
	} else {
		copy(f.short[1+keep:], more)
	}
	f.bytes = uint(n)
}

// whole makes the field n bytes, fewer than maxFresh, of the window, where their number stands before them. It returns the
// place behind them, and knows it before n is known, if that is as the last time.
func (f *skimField) whole(e *window, at, n uint) (end uint) {
	*(*[moveBytes]byte)(f.short[:]) = *(*[moveBytes]byte)(e[at:])
	if n != f.bytes {
		f.bytes = n
	}
	if f.bytes >= moveBytes {
		for i := uint(moveBytes); i <= f.bytes; i += moveBytes {
			*(*[moveBytes]byte)(f.short[i&255:]) = *(*[moveBytes]byte)(e[(at+i)&inWindow:])
		}
	}
	return (at + 1 + f.bytes) & inWindow
}

// part makes the field its first keep bytes, fewer than maxKept, and n of the window, fewer than maxFresh.
func (f *skimField) part(keep uint, e *window, at, n uint) {
	*(*[moveBytes]byte)(f.short[(1+keep)&255:]) = *(*[moveBytes]byte)(e[at:])
	if n > moveBytes {
		for i := uint(moveBytes); i < n; i += moveBytes {
			*(*[moveBytes]byte)(f.short[(1+keep+i)&255:]) = *(*[moveBytes]byte)(e[(at+i)&inWindow:])
		}
	}
	f.bytes = keep + n
}

// rest is the field's memory, without what is in it.
func (f *skimField) rest() skimField {
	if cap(f.long) > longestKept {
		return skimField{}
	}
	return skimField{long: f.long[:0]}
}
