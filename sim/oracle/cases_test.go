package oracle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"millrace/tablet"
	"millrace/tablet/visibility"
)

// TestCases holds the oracle against scripts of operations with expected answers that were made for any store (kv-ops/1).
// What concerns files, faults and restarts alone means nothing to the oracle and is passed over; reads through an iterator
// or an open scan are left to the real store.
func TestCases(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(sharedTestdata(t), "cases", "*.json"))
	if len(paths) == 0 {
		t.Skip("no scripts: testdata/cases beside the module, or MILLRACE_TESTDATA, holds none")
	}
	scans := 0
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			d := json.NewDecoder(bytes.NewReader(raw))
			d.UseNumber()
			var script struct {
				Table struct{ MaxVersions int }
				Ops   []object
			}
			if err := d.Decode(&script); err != nil {
				t.Fatal(err)
			}
			r := &runner{t: t, versions: max(script.Table.MaxVersions, 1)}
			for i, op := range script.Ops {
				r.at = i
				r.run(op)
			}
			scans += r.scans
		})
	}
	if scans < 100 {
		t.Errorf("only %d scans were compared", scans)
	}
}

func sharedTestdata(t *testing.T) string {
	if dir := os.Getenv("MILLRACE_TESTDATA"); dir != "" {
		return dir
	}
	for dir := "."; ; dir = filepath.Join(dir, "..") {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared", "testdata")
		}
		if abs, _ := filepath.Abs(dir); abs == "/" {
			t.Fatal("no go.mod above the test")
		}
	}
}

type object = map[string]any

type runner struct {
	t        *testing.T
	at       int // the operation's number
	store    Store
	versions int
	clock    int64
	scans    int
}

func (r *runner) fatalf(format string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("operation %d: "+format, append([]any{r.at}, args...)...)
}

func (r *runner) run(op object) {
	if op["expect"] == "error" {
		return // nothing has changed
	}
	switch op["op"] {
	case "put", "delete":
		u := object{"delete": op["op"] == "delete"}
		for k, v := range op {
			u[k] = v
		}
		r.mutate(op["row"], []any{u})
	case "mutate":
		r.mutate(op["row"], op["updates"].([]any))
	case "batch":
		for _, m := range op["mutations"].([]any) {
			if m := m.(object); m["expect"] != "error" {
				r.mutate(m["row"], m["updates"].([]any))
			}
		}
	case "parallel":
		for _, list := range op["threads"].([]any) {
			for _, op := range list.([]any) {
				r.run(op.(object))
			}
		}
	case "fill":
		r.fill(op)
	case "compact":
		if op["mode"] == "full" && op["cancelAfterEntries"] == nil {
			r.store.Compact(r.versions)
		}
	case "config":
		r.versions = int(r.number(op["maxVersions"], 1))
	case "scan":
		r.scan(op)
	case "flush", "split", "reopen", "crash", "files", "dir", "fault", "clearFaults", "iter", "open", "read", "close":
	default:
		r.fatalf("unknown operation %v", op["op"])
	}
}

func (r *runner) mutate(row any, updates []any) {
	m := tablet.NewMutation(r.bytes(row))
	for _, u := range updates {
		u := u.(object)
		m.Add(tablet.Update{
			Family: r.bytes(u["cf"]), Qualifier: r.bytes(u["cq"]), Visibility: r.bytes(u["cv"]), Value: r.bytes(u["value"]),
			Timestamp: r.number(u["ts"], 0), HasTimestamp: u["ts"] != nil, Deleted: u["delete"] == true,
		})
	}
	r.clock++
	r.store.Apply(m, r.clock)
}

var placeholder = regexp.MustCompile(`\{i(?::(\d+))?\}`)

func (r *runner) fill(op object) {
	from, to, step := r.number(op["from"], 0), r.number(op["to"], 0), r.number(op["step"], 1)
	for i := from; step > 0 && i <= to || step < 0 && i >= to; i += step {
		u := object{"delete": op["kind"] == "delete", "ts": op["ts"]}
		if op["ts"] == "i" {
			u["ts"] = json.Number(fmt.Sprint(i))
		}
		for _, key := range []string{"row", "cf", "cq", "cv", "value"} {
			u[key] = expand(op[key], i)
		}
		r.mutate(u["row"], []any{u})
	}
}

// expand puts i into the templates of a byte string.
func expand(v any, i int64) any {
	switch v := v.(type) {
	case string:
		return placeholder.ReplaceAllStringFunc(v, func(p string) string {
			width, _ := strconv.Atoi(placeholder.FindStringSubmatch(p)[1])
			return fmt.Sprintf("%0*d", width, i)
		})
	case object:
		filled := object{}
		for key, part := range v {
			filled[key] = expand(part, i)
		}
		return filled
	case []any:
		var filled []any
		for _, part := range v {
			filled = append(filled, expand(part, i))
		}
		return filled
	}
	return v
}

func (r *runner) number(v any, otherwise int64) int64 {
	if v == nil {
		return otherwise
	}
	n, err := v.(json.Number).Int64()
	if err != nil {
		r.fatalf("%v", err)
	}
	return n
}

// bytes reads a byte string in any of its spellings.
func (r *runner) bytes(v any) []byte {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return []byte(v)
	case object:
		if h, ok := v["hex"].(string); ok {
			b, err := hex.DecodeString(h)
			if err != nil {
				r.fatalf("%v", err)
			}
			return b
		}
		if v["rep"] != nil {
			return bytes.Repeat(r.bytes(v["rep"]), int(r.number(v["times"], 1)))
		}
		var all []byte
		for _, part := range v["cat"].([]any) {
			all = append(all, r.bytes(part)...)
		}
		return all
	}
	r.fatalf("no byte string: %v", v)
	return nil
}

func (r *runner) scan(op object) {
	q := Query{MaxVersions: int(r.number(op["maxVersions"], int64(r.versions)))}
	var names []string
	auths, _ := op["auths"].([]any)
	for _, a := range auths {
		names = append(names, string(r.bytes(a)))
	}
	set, err := visibility.NewAuthorizations(names...)
	if err != nil {
		r.fatalf("%v", err)
	}
	sees := visibility.NewEvaluator(set)
	q.Visible = func(label []byte) bool {
		ok, err := sees.Visible(label)
		return ok && err == nil
	}
	columns, _ := op["columns"].([]any)
	for _, c := range columns {
		parts := c.([]any)
		col := Column{Family: r.bytes(parts[0])}
		if len(parts) > 1 {
			col.Qualifier = append([]byte{}, r.bytes(parts[1])...)
		}
		q.Columns = append(q.Columns, col)
	}
	var found []tablet.Entry
	for _, e := range r.store.Scan(q) {
		if rng, ok := op["range"].(object); !ok || r.inRange(rng, &e.Key) {
			found = append(found, e)
		}
	}
	if limit := int(r.number(op["limit"], 0)); limit > 0 {
		found = found[:min(limit, len(found))]
	}
	r.scans++
	r.compare(op, found)
}

// inRange compares a key with a range's bounds as far as they go, apart from what tablet.Range makes of them.
func (r *runner) inRange(rng object, k *tablet.Key) bool {
	if row, ok := rng["row"]; ok {
		return bytes.Equal(k.Row(), r.bytes(row))
	}
	startInc, endInc := rng["startInc"] != false, rng["endInc"] != false
	if start, ok := rng["start"].([]any); ok {
		if c := r.compareParts(k, start); c < 0 || c == 0 && !startInc {
			return false
		}
	}
	if end, ok := rng["end"].([]any); ok {
		if c := r.compareParts(k, end); c > 0 || c == 0 && !endInc {
			return false
		}
	}
	return true
}

func (r *runner) compareParts(k *tablet.Key, parts []any) int {
	fields := [][]byte{k.Row(), k.Family(), k.Qualifier(), k.Visibility()}
	for i, part := range parts {
		if i == 4 {
			switch ts := r.number(part, 0); {
			case k.Timestamp() > ts:
				return -1
			case k.Timestamp() < ts:
				return 1
			}
			return 0
		}
		if c := bytes.Compare(fields[i], r.bytes(part)); c != 0 {
			return c
		}
	}
	return 0
}

func (r *runner) compare(op object, found []tablet.Entry) {
	if want, ok := op["expect"].([]any); ok {
		if len(found) != len(want) {
			r.fatalf("%d entries, want %d", len(found), len(want))
		}
		for i := range want {
			r.compareEntry(found[i], want[i])
		}
	}
	if n := op["expectCount"]; n != nil && int(r.number(n, 0)) != len(found) {
		r.fatalf("%d entries, want %v", len(found), n)
	}
	if want := op["expectFirst"]; want != nil {
		r.compareEntry(found[0], want)
	}
	if want := op["expectLast"]; want != nil {
		r.compareEntry(found[len(found)-1], want)
	}
	if want := op["expectDigest"]; want != nil {
		if got := digest(found, op["digestTs"] != false); got != want {
			r.fatalf("digest of %d entries %s, want %s", len(found), got, want)
		}
	}
}

func (r *runner) compareEntry(e tablet.Entry, want any) {
	parts := want.([]any)
	fields := [][]byte{e.Key.Row(), e.Key.Family(), e.Key.Qualifier(), e.Key.Visibility()}
	for i, f := range fields {
		if !bytes.Equal(f, r.bytes(parts[i])) {
			r.fatalf("found %v, want %.200v", e.Key, want)
		}
	}
	if parts[4] != nil && r.number(parts[4], 0) != e.Key.Timestamp() || !bytes.Equal(e.Value, r.bytes(parts[5])) {
		r.fatalf("found %v %.40q, want %.200v", e.Key, e.Value, want)
	}
}

func digest(entries []tablet.Entry, withTimestamps bool) string {
	h := sha256.New()
	put := func(b []byte) { h.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)) }
	for _, e := range entries {
		put(e.Key.Row())
		put(e.Key.Family())
		put(e.Key.Qualifier())
		put(e.Key.Visibility())
		if withTimestamps {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(e.Key.Timestamp())))
		}
		put(e.Value)
	}
	return hex.EncodeToString(h.Sum(nil))
}
