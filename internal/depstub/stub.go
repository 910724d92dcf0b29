// Package depstub holds the module's dependencies in go.mod while the packages that use them are written.
package depstub

import (
	_ "github.com/asynkron/protoactor-go/actor"
	_ "github.com/cockroachdb/datadriven"
	_ "github.com/dustin/go-humanize"
	_ "github.com/google/btree"
	_ "github.com/jedib0t/go-pretty/v6/progress"
	_ "github.com/jedib0t/go-pretty/v6/table"
	_ "github.com/klauspost/compress/snappy"
	_ "github.com/klauspost/compress/zlib"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/pierrec/lz4/v4"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "pgregory.net/rapid"
)
