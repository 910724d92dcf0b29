package rfile

import (
	"crypto/md5"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"millrace/internal/wire"
	"millrace/tablet"
)

// Sampler is the configuration that a file's sample groups are made with: a class of Accumulo's and its options. Two
// samples can be compared only if their configurations are equal.
//
//	RowSampler         hasher, modulus
//	RowColumnSampler   the same, and row, family, qualifier, visibility: "true" for those that are hashed
//
// hasher is murmur3_32, md5 or sha1. An entry is taken if the hash of its row, or of the chosen fields one after the
// other, is divisible by modulus.
type Sampler struct {
	Class   string // with or without its package
	Options map[string]string
}

const (
	samplerPackage = "org.apache.accumulo.core.client.sample."
	rowSampler     = "RowSampler"
	columnSampler  = "RowColumnSampler"

	samplerVersion = 1
)

// Equal says whether two configurations are the same.
func (s *Sampler) Equal(o *Sampler) bool {
	return s.fullClass() == o.fullClass() && maps.Equal(s.Options, o.Options)
}

func (s *Sampler) fullClass() string {
	if s.Class == rowSampler || s.Class == columnSampler {
		return samplerPackage + s.Class
	}
	return s.Class
}

// parseSampler reads {u8 version, JUTF class, i32 n, n × {JUTF option, JUTF value}}.
func parseSampler(f *fields) *Sampler {
	if v := f.take("sampler's version", 1); f.err == nil && v[0] != samplerVersion {
		f.fail(fmt.Sprintf("sampler's version is %d", v[0]), wire.ErrMalformed)
	}
	s := &Sampler{Class: f.string("sampler's class"), Options: map[string]string{}}
	for range f.count("number of sampler options", 4) {
		name := f.string("sampler option")
		s.Options[name] = f.string("sampler option's value")
	}
	return s
}

func (s *Sampler) append(dst []byte) ([]byte, error) {
	dst, err := wire.AppendJUTF(append(dst, samplerVersion), s.fullClass())
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(s.Options)))
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		for _, text := range []string{name, s.Options[name]} {
			if err == nil {
				dst, err = wire.AppendJUTF(dst, text)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sampler %s: %w", s.Class, err)
	}
	return dst, nil
}

// acceptor decides which entries a sample takes.
type acceptor struct {
	hash    func([]byte) uint32
	modulus int32
	fields  [4]bool // hashed
	deepest int     // last field hashed: while no field up to it changes, neither does the answer
	buf     []byte
}

// acceptor builds the decision. The error wraps tablet.ErrUsage, or tablet.ErrUnsupported for a class not known here.
func (s *Sampler) acceptor() (*acceptor, error) {
	a := &acceptor{}
	allowed := []string{"hasher", "modulus"}
	switch strings.TrimPrefix(s.Class, samplerPackage) {
	case rowSampler:
		a.fields[0] = true
	case columnSampler:
		for i, name := range []string{"row", "family", "qualifier", "visibility"} {
			a.fields[i] = strings.EqualFold(s.Options[name], "true")
			allowed = append(allowed, name)
		}
	default:
		return nil, fmt.Errorf("sampler %q: %w", s.Class, tablet.ErrUnsupported)
	}
	for name := range s.Options {
		if !slices.Contains(allowed, name) {
			return nil, fmt.Errorf("sampler %s has no option %q: %w", s.Class, name, tablet.ErrUsage)
		}
	}
	if a.fields == [4]bool{} {
		return nil, fmt.Errorf("sampler %s hashes no field: %w", s.Class, tablet.ErrUsage)
	}
	for i, hashed := range a.fields {
		if hashed {
			a.deepest = i
		}
	}
	modulus, err := strconv.ParseInt(s.Options["modulus"], 10, 32)
	if err != nil || modulus < 1 {
		return nil, fmt.Errorf("sampler's modulus is %q, not a number from 1 on: %w", s.Options["modulus"], tablet.ErrUsage)
	}
	a.modulus = int32(modulus)
	hashes := map[string]func([]byte) uint32{"murmur3_32": murmur3, "md5": md5Head, "sha1": sha1Head}
	if a.hash = hashes[s.Options["hasher"]]; a.hash == nil {
		return nil, fmt.Errorf("sampler's hasher is %q, not murmur3_32, md5 or sha1: %w", s.Options["hasher"], tablet.ErrUsage)
	}
	return a, nil
}

func (a *acceptor) accepts(k *tablet.Key) bool {
	in := k.Row()
	if a.fields != [4]bool{true} {
		a.buf = a.buf[:0]
		for i, field := range [4][]byte{k.Row(), k.Family(), k.Qualifier(), k.Visibility()} {
			if a.fields[i] {
				a.buf = append(a.buf, field...)
			}
		}
		in = a.buf
	}
	return int32(a.hash(in))%a.modulus == 0
}

// murmur3 is MurmurHash3, 32 bit for x86, with seed 0.
func murmur3(b []byte) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	h, n := uint32(0), uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * c1
		h ^= bits.RotateLeft32(k, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	if len(b) > 0 {
		k := uint32(0)
		for i := range b {
			k |= uint32(b[i]) << (8 * i)
		}
		h ^= bits.RotateLeft32(k*c1, 15) * c2
	}
	h ^= n
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// md5Head and sha1Head are the first four bytes of a digest as a number, the way Guava's HashCode gives it.
func md5Head(b []byte) uint32 {
	sum := md5.Sum(b)
	return binary.LittleEndian.Uint32(sum[:])
}

func sha1Head(b []byte) uint32 {
	sum := sha1.Sum(b)
	return binary.LittleEndian.Uint32(sum[:])
}
