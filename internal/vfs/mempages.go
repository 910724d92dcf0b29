package vfs

import "slices"

// The units of a crash: a disk writes a sector whole or not at all, and a file system writes pages in any order.
const (
	PageBytes   = 4096
	SectorBytes = 512
)

type page = [PageBytes]byte

// zeroPage stands for every page that was lost whole. It is never written to.
var zeroPage page

// content is a file's bytes by pages. Bytes below length never change in place, so images share pages with the file
// they were taken of: append touches only what lies beyond the length that an image has.
type content struct {
	pages  []*page
	length int64
}

func contentOf(p []byte) content {
	var c content
	c.append(p)
	return c
}

// append adds bytes. The pages of one call are allocated together.
func (c *content) append(p []byte) {
	missing := pagesOf(c.length+int64(len(p))) - len(c.pages)
	fresh := make([]page, max(missing, 0))
	for i := range fresh {
		c.pages = append(c.pages, &fresh[i])
	}
	for len(p) > 0 {
		n := copy(c.pages[c.length/PageBytes][c.length%PageBytes:], p)
		c.length += int64(n)
		p = p[n:]
	}
}

// readAt copies from off on and returns how many bytes there were.
func (c content) readAt(p []byte, off int64) int {
	if off >= c.length {
		return 0
	}
	p = p[:min(int64(len(p)), c.length-off)]
	done := 0
	for done < len(p) {
		at := off + int64(done)
		done += copy(p[done:], c.pages[at/PageBytes][at%PageBytes:])
	}
	return done
}

// prefix is the first bytes, in shared pages.
func (c content) prefix(length int64) content {
	n := pagesOf(length)
	return content{pages: c.pages[:n:n], length: length}
}

// bytes is a copy of it all.
func (c content) bytes() []byte {
	p := make([]byte, c.length)
	c.readAt(p, 0)
	return p
}

// without returns the content with zeros in the spans, in pages of its own where they differ.
func (c content) without(spans []span) content {
	owned := false
	for _, s := range spans {
		for at := s.from; at < min(s.to, c.length); {
			i, from := at/PageBytes, at%PageBytes
			to := min(from+s.to-at, PageBytes)
			if !owned {
				c.pages, owned = slices.Clone(c.pages), true
			}
			if from == 0 && to == PageBytes {
				c.pages[i] = &zeroPage
			} else {
				p := c.own(i)
				clear(p[from:to])
				c.pages[i] = p
			}
			at += to - from
		}
	}
	return c
}

// own is a copy of a page up to the length; beyond it another file may be writing.
func (c content) own(i int64) *page {
	p := new(page)
	copy(p[:min(c.length-i*PageBytes, PageBytes)], c.pages[i][:])
	return p
}

// pagesOf is the number of pages that so many bytes take.
func pagesOf(length int64) int { return int((length + PageBytes - 1) / PageBytes) }

// span is a range of bytes of a file.
type span struct{ from, to int64 }
