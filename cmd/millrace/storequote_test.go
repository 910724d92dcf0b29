package main

import (
	"strings"
	"testing"
)

// TestStoreOutputIsQuoted does what TestOutputIsQuoted does, with the commands on stores and scripts.
func TestStoreOutputIsQuoted(t *testing.T) {
	s := newShell(t)
	nasty := "\x1b[31m\r\t\x07\u202e\u0085"
	db, table := "d\x1b[2Jb\u202e", "t"+nasty
	escapes := `\x1b[31m\x0d\x0a\x00\xff\x9b`
	s.ok("store", "insert", "--create", "--set", "table.file.max=1000", db, table, escapes, escapes, escapes, escapes)
	s.ok("store", "insert", "--ts", "1", "-l", `"\x1b\xe2\x80\xae"`, db, table, escapes+"2", "f", "q", escapes)
	writeFile(t, "bad.ndjson", []byte(`{"row":"`+nasty+`"}`))
	writeFile(t, nasty+".json", []byte(`{"format":"kv-ops/1","ops":[{"op":"put","row":"`+`\u001b[31m`+`","ts":1},{"op":"scan","expect":[]},{"op":"`+"\u202e"+`"}]}`))
	writeFile(t, "fails.json", []byte(`{"format":"kv-ops/1","ops":[{"op":"put","row":"\u001b[31m\u202e","value":"\u001b","ts":1},{"op":"scan","expect":[]}]}`))
	writeFile(t, "lacks.json", []byte(`{"format":"kv-ops/1","needs":["\u001b[31m"],"ops":[]}`))
	writeFile(t, "syntax.json", []byte("{\x1b[31m"))
	for _, command := range [][]string{
		{"store", "ls", db}, {"store", "ls", db, table}, {"store", "ls", db, nasty}, {"store", "ls", "--format", "json", db},
		{"store", "scan", "-s", "\x1b\u202e", db, table}, {"store", "scan", "-s", `\x1b\xe2\x80\xae`, db, table},
		{"store", "scan", "--format", "ndjson", db, table}, {"store", "scan", "-b", `\` + nasty, db, table}, {"store", "scan", db, nasty},
		{"store", "scan", "-c", `\` + nasty, db, table}, {"store", "scan", nasty, table},
		{"store", "insert", db, nasty, "r", "f", "q", "v"}, {"store", "insert", db, table, `\` + nasty, "f", "q", "v"},
		{"store", "insert", "--create", "--set", nasty, db, nasty, "r", "f", "q", "v"},
		{"store", "insert", "--create", "--set", nasty + "=" + nasty, db, nasty, "r", "f", "q", "v"},
		{"store", "insert", "-l", `\x1b(`, db, table, "r", "f", "q", "v"}, {"store", "insert", "-i", "bad.ndjson", db, table},
		{"store", "insert", "--durability", nasty, db, table}, {"store", "insert", "--create", ".", table, "r", "f", "q", "v"},
		{"store", "flush", db, table}, {"store", "ls", "--files", db}, {"store", "ls", "--files", "--format", "csv", db, table},
		{"store", "ls", "--files", "--format", "markdown", db}, {"store", "compact", db, table}, {"store", "compact", "--codec", nasty, db, table},
		{"store", "check", db}, {"store", "check", "--deep", "--format", "json", db}, {"store", "check", nasty},
		{"store", "repair", db}, {"store", "repair", "--yes", "--format", "json", db}, {"store", "repair", nasty},
		{"script", nasty + ".json"}, {"script", "--format", "json", nasty + ".json"}, {"script", "fails.json", "lacks.json"},
		{"script", "--format", "json", "fails.json", "lacks.json"}, {"script", "syntax.json"}, {"script", nasty},
	} {
		s.stdin = strings.NewReader("")
		r := s.run(command...)
		checkPlain(t, command, r.out)
		checkPlain(t, command, r.stderr)
		if strings.Count(r.stderr, "\n") > 1 {
			t.Errorf("%q: more than one line: %q", command, r.stderr)
		}
	}
}
