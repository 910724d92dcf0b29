package layout

// Touch is a part of the outside world that a package may use.
type Touch uint

// What a row may touch.
const (
	Files      Touch = 1 << iota // internal/vfs
	Clock                        // internal/clock
	Protoactor                   // github.com/asynkron/protoactor-go
	OS                           // golang.org/x/sys, and the calls of package os that open files
)

// Row says what one package is for and what it may import: the standard library, and packages of the module with a
// lower rank in the same column or in none; what lies in another column only from above the columns.
type Row struct {
	For string
	// Rank grows upwards. An import goes to a lower rank, never to the same.
	Rank int
	// Column is a part of the middle of the map, where writer, reader, compactor and hosted tablets stand beside each
	// other and know nothing of one another. Empty above and below.
	Column string
	// May is what of the outside world it may touch.
	May Touch
	// Modules are the import path prefixes of other modules it may use, beside what May opens.
	Modules []string
}

// Ranks, from the bottom.
const (
	ground  = iota // no package of the module below
	outside        // the outside world as interfaces
	vocabulary
	container
	format
	mechanism
	part  // the lower half of the middle
	whole // the upper half of the middle
	facade
	messages
	shell
	kit
	model
	simulation
	experiments
	command
)

var (
	codecs = []string{"github.com/pierrec/lz4/v4", "github.com/klauspost/compress"}
	// histograms of latencies
	histograms = []string{"github.com/HdrHistogram/hdrhistogram-go"}
	// others are stores to compare with, in a module of their own
	others   = []string{"github.com/cockroachdb/pebble/v2", "github.com/syndtr/goleveldb"}
	terminal = []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/jedib0t/go-pretty/v6", "github.com/dustin/go-humanize", "golang.org/x/term"}
)

// Rows is the map. A row may stand before its package is written.
var Rows = map[string]Row{
	"internal/invariant": {For: "Checks that panic when the program itself is wrong.", Rank: ground},
	"internal/layout":    {For: "This map, and the tests that hold the source against it.", Rank: ground},
	"internal/nearest":   {For: "The known name that an unknown one was most likely meant to be.", Rank: ground},
	"internal/wire":      {For: "Hadoop's and Java's integers and strings.", Rank: outside},
	"internal/clock":     {For: "Time as an interface.", Rank: outside, May: OS | Clock},
	"internal/vfs":       {For: "Files as an interface.", Rank: outside, May: OS | Files},

	"tablet":                {For: "The vocabulary: keys, entries, mutations, ranges, extents, batches, errors.", Rank: vocabulary},
	"internal/record":       {For: "The one framing of log segments and manifests.", Rank: container, May: Files},
	"tablet/rfile/bcfile":   {For: "The container below: checked, compressed blocks.", Rank: container, May: Files, Modules: codecs},
	"tablet/rfile":          {For: "The file format: writer, reader, relative keys, index levels.", Rank: format, May: Files, Modules: codecs},
	"tablet/rfile/parallel": {For: "Goroutines beside the file format: read ahead, compress behind, spread a check over cores.", Rank: mechanism},
	"tablet/rfile/accumulo": {For: "Holds the file format against Accumulo's own reader and writer, in tests behind a build tag.", Rank: mechanism},
	"tablet/visibility":     {For: "Parses and evaluates visibility expressions.", Rank: format},
	"tablet/iter":           {For: "Iterators and the stack: merge, delete, column, visibility, version.", Rank: mechanism},
	"tablet/memtable":       {For: "The sorted in-memory map, with snapshots.", Rank: mechanism, Modules: []string{"github.com/google/btree"}},
	"tablet/wal":            {For: "The write-ahead log that all tablets share, and its replay.", Rank: mechanism, May: Files},
	"tablet/manifest":       {For: "The durable list of a tablet's files.", Rank: mechanism, May: Files},
	"tablet/locate":         {For: "Rows to extents: the sorted cache that writers and readers share.", Rank: mechanism},

	"tablet/storage":  {For: "A store's directory: its names, its lock, what is loaded from it, and its check.", Rank: part, Column: "storage", May: Files},
	"tablet/hosted":   {For: "A live tablet: memtables and file set, changed only here.", Rank: part, Column: "hosted", May: Files},
	"writer/binning":  {For: "Mutations to tablets, by extent.", Rank: part, Column: "writer"},
	"writer":          {For: "BatchWriter: buffers mutations within a memory bound, sends, retries.", Rank: whole, Column: "writer", May: Clock},
	"reader/cache":    {For: "Data and index blocks kept in memory.", Rank: part, Column: "reader"},
	"reader/scan":     {For: "One session on one tablet: builds the stack, fills batches, resumes.", Rank: whole, Column: "reader", May: Files},
	"reader":          {For: "Scanner: pages through ranges across tablets.", Rank: facade, Column: "reader", May: Clock},
	"compactor/plan":  {For: "What to compact next: which files of a tablet, whose memtable.", Rank: part, Column: "compactor"},
	"compactor/job":   {For: "One compaction: opens inputs, drives the stack, writes the output.", Rank: whole, Column: "compactor", May: Files},
	"actors/protocol": {For: "The messages, one file a conversation.", Rank: messages, May: Protoactor},

	"actors":           {For: "Every actor, its supervision, the wiring of a system.", Rank: shell, May: Protoactor | Clock | Files},
	"actors/actortest": {For: "The kit for tests that drive actors by messages alone.", Rank: kit, May: Protoactor | Clock | Files},
	"sim/workload":     {For: "Seeded streams of keys and arrivals.", Rank: model},
	"sim/oracle":       {For: "The slow, obvious store that answers are held against.", Rank: model},
	"sim/plot":         {For: "Draws line charts as SVG.", Rank: ground},
	"sim":              {For: "Runs the real actors: seeded schedule, virtual time, faulty disks.", Rank: simulation, May: Protoactor | Clock | Files},
	"sim/script":       {For: "Runs scripts of operations with expected results against the embedded store.", Rank: simulation, May: Clock | Files},
	"sim/experiment":   {For: "Named experiments: settings in, a table of results out.", Rank: experiments, May: Clock | Files, Modules: histograms},
	"sim/peers":        {For: "Pebble and goleveldb beside ours: a command and a module of its own.", Rank: command, May: Clock, Modules: others},
	"cmd/millrace":     {For: "The only main; one file a subcommand.", Rank: command, May: Clock | Files, Modules: terminal},
}
