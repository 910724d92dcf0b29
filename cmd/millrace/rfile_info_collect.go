package main

import (
	"context"
	"encoding/hex"
	"errors"
	"math/bits"

	"millrace/tablet"
	"millrace/tablet/rfile"
)

// fileInfo is what the index of a file tells.
type fileInfo struct {
	File          string       `json:"file"`
	Bytes         int64        `json:"size"`
	RFileVersion  int          `json:"rfile_version"`
	BCFileVersion []int        `json:"bcfile_version"` // major, minor
	Codec         string       `json:"codec"`
	Sums          *sumsInfo    `json:"sums"` // null in files without
	Entries       int64        `json:"entries"`
	DataBlocks    int64        `json:"data_blocks"`
	RawBytes      int64        `json:"raw_bytes"`    // of all data blocks
	StoredBytes   int64        `json:"stored_bytes"` // the same as they lie in the file
	Groups        []*groupInfo `json:"groups"`
	Sampler       *samplerInfo `json:"sampler"`
	SampleGroups  []*groupInfo `json:"sample_groups"`
	MetaBlocks    []metaInfo   `json:"meta_blocks"`

	failed *errorDocument // then nothing else is known
}

// document is what is printed of a file as JSON.
func (i *fileInfo) document() any {
	if i.failed != nil {
		return failedFile{i.File, i.failed}
	}
	return i
}

// sumsInfo is about the checksums that a file carries.
type sumsInfo struct {
	Blocks int    `json:"blocks"`
	FileID string `json:"file_id"`
}

type samplerInfo struct {
	Class   string            `json:"class"`
	Options map[string]string `json:"options"`
}

// metaInfo is a named block.
type metaInfo struct {
	Name   string `json:"name"`
	Codec  string `json:"codec"`
	Offset int64  `json:"offset"`
	Stored int64  `json:"csize"`
	Raw    int64  `json:"rawsize"`
}

// groupInfo is a locality group.
type groupInfo struct {
	Name        *string          `json:"name"` // null for the default group
	Default     bool             `json:"default"`
	Families    []familyDocument `json:"column_families"` // null when not tracked
	Entries     int64            `json:"entries"`
	DataBlocks  int64            `json:"data_blocks"`
	IndexLevels int              `json:"index_levels"` // level of the root
	IndexBlocks int64            `json:"index_blocks"` // below the root
	IndexBytes  int64            `json:"index_bytes"`  // of those blocks, as they lie in the file
	FirstKey    *keyDocument     `json:"first_key"`
	LastKey     *keyDocument     `json:"last_key"`
	RawBytes    int64            `json:"raw_bytes"`
	StoredBytes int64            `json:"stored_bytes"`
	BlockBytes  histogram        `json:"block_raw_bytes"`
	BlockCounts histogram        `json:"block_entries"`

	group *rfile.Group
	last  tablet.Key
}

// histogram counts values in powers of two; those without values are left out.
type histogram []bucket

// bucket counts values v with From <= v < Below.
type bucket struct {
	From   int64 `json:"from"`
	Below  int64 `json:"below"`
	Blocks int64 `json:"blocks"`
}

// inspect reads a file's index.
func (e *env) inspect(ctx context.Context, path string) (info *fileInfo, err error) {
	r, err := e.openRFile(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	bc := r.Container()
	info = &fileInfo{File: path, Bytes: bc.Size(), RFileVersion: r.Version(), BCFileVersion: containerVersion(r), Codec: bc.Codec()}
	if s := bc.Sums(); s != nil {
		id := s.FileID()
		info.Sums = &sumsInfo{Blocks: s.Len(), FileID: hex.EncodeToString(id[:])}
	}
	for _, m := range bc.Metas() {
		info.MetaBlocks = append(info.MetaBlocks, metaInfo{m.Name, m.Codec, m.Region.Offset, m.Region.Stored, m.Region.Raw})
	}
	if info.Groups, err = inspectGroups(ctx, r, r.Groups()); err != nil {
		return nil, err
	}
	for _, g := range info.Groups {
		info.Entries += g.Entries
		info.DataBlocks += g.DataBlocks
		info.RawBytes += g.RawBytes
		info.StoredBytes += g.StoredBytes
	}
	if s := r.Sampler(); s != nil {
		info.Sampler = &samplerInfo{s.Class, s.Options}
		info.SampleGroups, err = inspectGroups(ctx, r, r.Samples())
	}
	return info, err
}

func inspectGroups(ctx context.Context, r *rfile.Reader, groups []*rfile.Group) ([]*groupInfo, error) {
	infos := []*groupInfo{}
	for _, g := range groups {
		info, err := inspectGroup(ctx, r, g)
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

func inspectGroup(ctx context.Context, r *rfile.Reader, g *rfile.Group) (*groupInfo, error) {
	info := &groupInfo{Name: groupName(g), Default: g.Default, Families: familyDocuments(g), IndexLevels: g.IndexLevel(), group: g}
	var raw, entries powers
	err := r.Walk(ctx, g, rfile.Visitor{
		Node: func(n rfile.NodeInfo) error {
			info.IndexBlocks++
			info.IndexBytes += n.Region.Stored
			return nil
		},
		Leaf: func(l rfile.LeafInfo) error {
			info.DataBlocks++
			info.Entries += int64(l.Entries)
			info.RawBytes += l.Region.Raw
			info.StoredBytes += l.Region.Stored
			raw.add(l.Region.Raw)
			entries.add(int64(l.Entries))
			info.last.Assign(&l.Key)
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	info.BlockBytes, info.BlockCounts = raw.histogram(), entries.histogram()
	if g.HasFirstKey {
		info.FirstKey, info.LastKey = newKeyDocument(&g.FirstKey), newKeyDocument(&info.last)
	}
	return info, nil
}

// powers counts values by their highest bit; 0 counts with 1.
type powers [64]int64

func (p *powers) add(v int64) { p[bits.Len64(uint64(max(v, 1)))-1]++ }

func (p *powers) histogram() histogram {
	h := histogram{}
	for i, n := range p {
		if n > 0 {
			h = append(h, bucket{From: 1 << i, Below: 1 << (i + 1), Blocks: n})
		}
	}
	return h
}
