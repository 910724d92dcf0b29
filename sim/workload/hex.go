package workload

const hexDigits = "0123456789abcdef"

// putHex writes x in lower-case hexadecimal, zero-padded, over all of dst; digits that do not fit are lost.
func putHex(dst []byte, x uint64) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = hexDigits[x&15]
		x >>= 4
	}
}

func appendHex(dst []byte, x uint64, digits int) []byte {
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[x>>shift&15])
	}
	return dst
}

const notHex = 0xff

// hexValue is the value of each lower-case hexadecimal digit, notHex for all other bytes.
var hexValue = func() (t [256]byte) {
	for i := range t {
		t[i] = notHex
	}
	for i := range hexDigits {
		t[hexDigits[i]] = byte(i)
	}
	return t
}()

// parseHex reads lower-case hexadecimal digits, at most 16. ok is false if there is any other byte.
func parseHex(b []byte) (x uint64, ok bool) {
	var bad byte
	for _, c := range b {
		v := hexValue[c]
		bad |= v
		x = x<<4 | uint64(v&15)
	}
	return x, bad < 16
}

// parseRow reads a row: exactly 16 lower-case hexadecimal digits.
func parseRow(b []byte) (x uint64, ok bool) {
	if len(b) != rowBytes {
		return 0, false
	}
	return parseHex(b)
}
