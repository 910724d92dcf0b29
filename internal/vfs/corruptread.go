package vfs

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
)

// read damages what a read has brought. An error is one of reading the bytes to be put in their place.
func (r *CorruptRule) read(p *passage, rng *rand.Rand) error {
	got := p.buf[:p.n]
	if len(got) == 0 {
		return nil
	}
	at := p.Off + rng.Int64N(int64(len(got)))
	if r.Fixed {
		at = r.At
	}
	switch r.Damage {
	case DamageSwap:
		return r.swap(p, at, rng)
	case DamageOlder:
		return r.older(p)
	}
	if r.Damage == DamageSector {
		from := at / SectorBytes * SectorBytes
		// Drawn from the place when it is fixed, so that each read sees the same.
		if r.Fixed {
			rng = rand.New(rand.NewPCG(uint64(from), 2))
		}
		for i := from; i < from+SectorBytes; i++ {
			if b := byte(rng.Uint32()); i >= p.Off && i < p.Off+int64(len(got)) {
				got[i-p.Off] = b
			}
		}
		return nil
	}
	if at < p.Off || at >= p.Off+int64(len(got)) {
		return nil
	}
	if r.Fixed {
		rng = rand.New(rand.NewPCG(uint64(at), 3))
	}
	if r.Damage == DamageBit {
		got[at-p.Off] ^= 1 << rng.IntN(8)
	} else {
		got[at-p.Off] ^= byte(1 + rng.IntN(255))
	}
	return nil
}

// swap gives the bytes of the block that holds at those of another, and the other way round.
func (r *CorruptRule) swap(p *passage, at int64, rng *rand.Rand) error {
	size, err := p.file.File.Size()
	if err != nil {
		return err
	}
	block := r.Block
	if block == 0 {
		block = PageBytes
	}
	blocks := (size + block - 1) / block
	a, b := at/block, r.With
	if !r.Fixed && blocks > 1 {
		b = (a + 1 + rng.Int64N(blocks-1)) % blocks // any but a
	}
	for _, pair := range [][2]int64{{a, b}, {b, a}} {
		if err := replaceBlock(p, pair[0]*block, pair[1]*block, block); err != nil {
			return err
		}
		if a == b {
			break
		}
	}
	return nil
}

// replaceBlock puts the bytes from source on over what was read of the block at target.
func replaceBlock(p *passage, target, source, block int64) error {
	from, to := max(target, p.Off), min(target+block, p.Off+int64(p.n))
	if from >= to {
		return nil
	}
	return readOver(p.file.File, p.buf[from-p.Off:to-p.Off], source+from-target)
}

// readOver fills a buffer from a file, with zeros behind its end.
func readOver(f File, p []byte, off int64) error {
	n, err := f.ReadAt(p, off)
	if err != nil && err != io.EOF {
		return err
	}
	clear(p[n:])
	return nil
}

// older gives what the file held once.
func (r *CorruptRule) older(p *passage) (err error) {
	f, err := r.Older.Open(p.Name)
	if errors.Is(err, fs.ErrNotExist) {
		clear(p.buf[:p.n])
		return nil
	}
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	return readOver(f, p.buf[:p.n], p.Off)
}
