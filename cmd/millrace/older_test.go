package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestOlderVersions gives files of RFile versions 3, 4, 6 and 7 to every command that takes files. They hold the same
// entries, so that all commands say the same of each, and what is written from one is the same in version 8.
func TestOlderVersions(t *testing.T) {
	from, err := filepath.Abs("../../tablet/rfile/testdata/older")
	if err != nil {
		t.Fatal(err)
	}
	s := newShell(t)
	said := map[string]string{} // by command
	for _, version := range []int{3, 4, 6, 7} {
		name := fmt.Sprintf("version%d.rf", version)
		writeFile(t, "in.rf", readFile(t, filepath.Join(from, name)))
		writeFile(t, name, readFile(t, "in.rf"))
		same := func(command string) string {
			t.Helper()
			out := s.ok(append([]string{"rfile"}, strings.Fields(command)...)...)
			if first, ok := said[command]; ok && first != out {
				t.Errorf("version %d: %s\n%s--- of version 3\n%s", version, command, out, first)
			}
			said[command] = out
			return out
		}
		if out := s.ok("rfile", "info", "in.rf"); !strings.Contains(out, fmt.Sprintf("RFile %d in BCFile 1.0, codec gz", version)) || !strings.Contains(out, `group "g"`) {
			t.Errorf("version %d: %s", version, out)
		}
		same("verify --deep in.rf")
		same("verify --hash in.rf")
		same("cat in.rf")
		same("cat --format ndjson in.rf")
		same("cat -b b -e bb -c h --keys in.rf")
		same("cat --group g --limit 5 in.rf")
		if n := strings.TrimSpace(same("cat -n in.rf")); n != "162" {
			t.Errorf("version %d: %s entries", version, n)
		}
		same("splits -n 3 in.rf")
		if out := s.ok("rfile", "extents", "--at", "b", "--format", "csv", "in.rf"); !strings.Contains(out, "in.rf,62,,false,6261,99,113,") {
			t.Errorf("version %d: %s", version, out)
		}
		same("diff version3.rf in.rf")
		s.ok("rfile", "convert", "--force", "converted.rf", "in.rf")
		s.ok("rfile", "compact", "--force", "--versions", "0", "compacted.rf", "in.rf", "version3.rf")
		s.ok("rfile", "split", "--at", "b", fmt.Sprint("split", version), "in.rf")
		writeFile(t, "entries.ndjson", []byte(said["cat --format ndjson in.rf"]))
		s.ok("rfile", "create", "--force", "-i", "entries.ndjson", "--groups-like", "in.rf", "created.rf")
		for _, made := range []string{"converted.rf", "created.rf"} {
			s.ok("rfile", "diff", "in.rf", made)
			if out := s.ok("rfile", "info", made); !strings.Contains(out, "RFile 8") || !strings.Contains(out, `group "g"`) {
				t.Errorf("%s of version %d: %s", made, version, out)
			}
			same("verify --hash " + made)
		}
		same("verify --hash compacted.rf")
		same(fmt.Sprintf("cat -n split%d/0001.rf", version))
		s.ok("rfile", "verify", "--deep", fmt.Sprintf("split%d", version))
		s.ok("rfile", "sums", "--force", "in.rf")
		if out := s.ok("rfile", "verify", "--deep", "in.rf"); !strings.Contains(out, "every byte matches its checksum in in.sums") {
			t.Error(out)
		}
		if err := removeFile("in.sums"); err != nil {
			t.Fatal(err)
		}
	}
	hash := func(file string) string {
		return said["verify --hash "+file][strings.Index(said["verify --hash "+file], "sha256"):]
	}
	if hash("in.rf") != hash("converted.rf") || hash("in.rf") != hash("created.rf") {
		t.Errorf("digests %q", said)
	}
}
