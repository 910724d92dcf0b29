package vfs

import "fmt"

// ImageMode says what of the pending changes a crash leaves. Whatever it leaves out, a rename is done whole or not at
// all, and a kept name of a file leads to what the file itself kept.
type ImageMode uint8

// The modes of images. Source: reliability.md §3.
const (
	// ImageStrict keeps nothing that was not synced. A new file whose directory was not synced is gone.
	ImageStrict ImageMode = iota
	// ImageAll keeps everything, still pending: the process crashed, the system goes on.
	ImageAll
	// ImageRandom keeps each page and each change of a directory with probability P. Lost pages inside the kept length
	// hold zeros.
	ImageRandom
	// ImageReorder keeps any subset of the changes of directories, and of the data what was synced.
	ImageReorder
	// ImageTorn is as ImageRandom, and of the first lost page of each file some sectors are there.
	ImageTorn
	// ImageJunk is as ImageRandom, but most lengths are kept, and lost pages hold zeros, random bytes, or bytes of a removed
	// file.
	ImageJunk
	// ImagePrefix keeps all names, and what was written to a file up to any byte.
	ImagePrefix

	imageModes
)

// ImageModes are all modes, in order.
func ImageModes() []ImageMode {
	modes := make([]ImageMode, imageModes)
	for i := range modes {
		modes[i] = ImageMode(i)
	}
	return modes
}

var imageModeNames = [imageModes]string{"strict", "all", "random", "reorder", "torn", "junk", "prefix"}

func (m ImageMode) String() string {
	if m < imageModes {
		return imageModeNames[m]
	}
	return fmt.Sprintf("ImageMode(%d)", uint8(m))
}

// ImageOptions choose an image.
type ImageOptions struct {
	Mode ImageMode
	// P is the probability, for the modes that have one, that a page or a change of a directory is kept; 0 is 0.5.
	P float64
	// Seed is what everything random is drawn from.
	Seed uint64
	// Nth, from 1 to Images of the mode, chooses one of the images that ImageReorder and ImagePrefix can give, instead of
	// drawing one.
	Nth int
}

func (o ImageOptions) String() string {
	return fmt.Sprintf("%s p=%g seed=%d nth=%d", o.Mode, o.P, o.Seed, o.Nth)
}

// maxSubset bounds the changes of directories of which all subsets are numbered.
const maxSubset = 8

// Images is how many images of this moment ImageOptions.Nth numbers: 1 for ImageStrict and ImageAll; 2^n for n pending
// changes of directories in ImageReorder, where beyond 8 the older ones are drawn from the seed; one for each pending
// byte that can be the first to be lost, and one without a loss, in ImagePrefix. It is 0 for modes that are drawn only.
func (m *MemFS) Images(mode ImageMode) int {
	m.device.mu.RLock()
	defer m.device.mu.RUnlock()
	switch mode {
	case ImageStrict, ImageAll:
		return 1
	case ImageReorder:
		return 1 << min(len(m.root.pendingChanges()), maxSubset)
	case ImagePrefix:
		return int(m.root.pendingBytes(map[*memNode]bool{})) + 1
	}
	return 0
}

// pendingBytes counts what was written and not synced, in files that have a name.
func (n *memNode) pendingBytes(seen map[*memNode]bool) int64 {
	if seen[n] {
		return 0
	}
	seen[n] = true
	if !n.dir {
		return n.pending()
	}
	var sum int64
	for _, e := range n.entries {
		sum += e.node.pendingBytes(seen)
	}
	return sum
}

// chooseChanges fills kept.
func (im *imager) chooseChanges() {
	p := im.p()
	numbered := len(im.kept) - maxSubset // from there on Nth decides
	for i := range im.kept {
		switch im.opts.Mode {
		case ImagePrefix:
			im.kept[i] = true
		case ImageReorder:
			if im.opts.Nth > 0 && i >= numbered {
				im.kept[i] = (im.opts.Nth-1)>>(i-max(numbered, 0))&1 == 1
				continue
			}
			im.kept[i] = im.rng.Uint64()&1 == 1
		default:
			im.kept[i] = im.chance(p)
		}
	}
}

func (im *imager) p() float64 {
	if im.opts.P == 0 {
		return 0.5
	}
	return im.opts.P
}

func (im *imager) chance(p float64) bool { return im.rng.Float64() < p }
