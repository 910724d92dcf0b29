package record

// sectorBytes is what a disk writes whole or not at all.
const sectorBytes = 512

// surePartBytes is how much of a seal must lie in one sector for a single wrong byte in it to be damage: chance cannot make
// the others right.
const surePartBytes = 6

// marred says whether the last bytes of the file are its seal with one byte wrong. A crash leaves of the seal what lies in
// one sector or in the other, and zeros or anything else in place of what it does not leave; it never changes one byte.
func (r *Reader) marred() (bool, error) {
	if r.limit-r.off != frameBytes {
		return false, nil
	}
	b, err := r.load(r.off, frameBytes)
	if err != nil {
		return false, err
	}
	seal := appendFrame(nil, r.want.Number, r.off, r.off, nil)
	wrong := -1
	for i := range seal {
		if b[i] == seal[i] {
			continue
		}
		if wrong >= 0 {
			return false, nil
		}
		wrong = i
	}
	part := b // in the sector of the wrong byte
	if cut := int(sectorBytes - r.off%sectorBytes); cut < frameBytes {
		part = b[:cut]
		if wrong >= cut {
			part = b[cut:]
		}
	}
	return wrong >= 0 && len(part) >= surePartBytes && !zero(part), nil
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
