package vfs

import "slices"

// remains is what a file holds in the image.
func (im *imager) remains(n *memNode) content {
	if n.pending() == 0 {
		return n.settled()
	}
	switch im.opts.Mode {
	case ImageStrict, ImageReorder:
		return n.settled()
	case ImagePrefix:
		return n.content.prefix(n.synced + im.cut(n.pending())).without(n.dropped)
	}
	return im.scatter(n).without(n.dropped)
}

// cut is how many of a file's pending bytes ImagePrefix keeps.
func (im *imager) cut(pending int64) int64 {
	if im.opts.Nth > 0 {
		at := im.cutAt
		im.cutAt -= pending
		if at >= 0 && at < pending {
			return at
		}
		return pending
	}
	if im.chance(0.5) {
		return pending
	}
	return im.rng.Int64N(pending + 1)
}

// scatter keeps some of the pending pages of a file.
func (im *imager) scatter(n *memNode) content {
	p, whole := im.p(), n.content
	c := content{pages: slices.Clone(whole.pages), length: whole.length}
	first, front := int(n.synced/PageBytes), -1
	end := n.synced // of what is kept
	for i := first; i < len(c.pages); i++ {
		if im.chance(p) {
			end = min(whole.length, int64(i+1)*PageBytes)
			continue
		}
		c.pages[i] = im.lost(n, i)
		if front < 0 {
			front = i
		}
	}
	if im.opts.Mode == ImageTorn {
		if front < 0 {
			front = len(c.pages) - 1
		}
		end = max(end, im.tear(n, &c, front))
	}
	if im.opts.Mode == ImageJunk {
		p = 0.8
	}
	if !im.chance(p) { // the length is one more thing to be kept or not
		c = c.prefix(end)
	}
	return c
}

// lost is what stands in the place of a page that was not written, but for the bytes that were synced before.
func (im *imager) lost(n *memNode, i int) *page {
	old := &zeroPage
	if im.opts.Mode == ImageJunk {
		old = im.junk(i)
	}
	synced := n.synced - int64(i)*PageBytes
	if synced <= 0 {
		return old
	}
	p := *old
	copy(p[:synced], n.content.pages[i][:])
	return &p
}

// junk is what a disk may hold where nothing was written: zeros, anything, or the bytes of a removed file, half of the
// time those that were at the same place in it.
func (im *imager) junk(i int) *page {
	kind := im.rng.IntN(3)
	if old := im.device.recycled; kind == 2 && len(old) > 0 {
		pages := old[im.rng.IntN(len(old))].pages
		if at := im.rng.IntN(len(pages)); i >= len(pages) || im.chance(0.5) {
			return pages[at]
		}
		return pages[i]
	}
	if kind == 0 {
		return &zeroPage
	}
	p := new(page)
	for at := 0; at < PageBytes; at += 8 {
		for bits, k := im.rng.Uint64(), 0; k < 8; k++ {
			p[at+k] = byte(bits >> (8 * k))
		}
	}
	return p
}

// tear keeps some of the pending sectors of a page, at least one and not all where there are two, and returns where the
// last of them ends.
func (im *imager) tear(n *memNode, c *content, i int) int64 {
	start := int64(i) * PageBytes
	first := int(max(n.synced-start, 0) / SectorBytes)
	sectors := int((min(n.content.length-start, PageBytes)+SectorBytes-1)/SectorBytes) - first
	all := uint64(1)<<sectors - 1
	var keep uint64
	if sectors == 1 {
		keep = im.rng.Uint64N(2)
	} else {
		keep = 1 + im.rng.Uint64N(all-1)
	}
	torn, end := *im.lost(n, i), n.synced
	for s := range sectors {
		if keep>>s&1 == 0 {
			continue
		}
		from := (first + s) * SectorBytes
		end = min(start+int64(from+SectorBytes), n.content.length)
		copy(torn[from:end-start], n.content.pages[i][from:])
	}
	c.pages[i] = &torn
	return end
}
