package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// everyCommand visits the commands that do something, by the arguments that lead to them.
func everyCommand(visit func(path []string, c *cobra.Command)) {
	var walk func(path []string, c *cobra.Command)
	walk = func(path []string, c *cobra.Command) {
		for _, sub := range c.Commands() {
			p := append(append([]string(nil), path...), sub.Name())
			if sub.HasSubCommands() {
				walk(p, sub)
			} else if !sub.Hidden {
				visit(p, sub)
			}
		}
	}
	walk(nil, newRoot(newEnv(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})))
}

// helpWidth is the most characters of a line of prose. Some lines of a memory's bound begin behind "Memory: ".
const helpWidth = 124

// TestHelp holds the help of every command to what all of them promise: what it does, exit codes, two examples.
func TestHelp(t *testing.T) {
	s := newShell(t)
	everyCommand(func(path []string, c *cobra.Command) {
		help := s.ok(append(path, "--help")...)
		if other := s.ok(append([]string{"help"}, path...)...); other != help {
			t.Errorf("help %s is not what --help prints", strings.Join(path, " "))
		}
		for _, part := range []string{c.Long, "Usage:\n  millrace " + strings.Join(path, " "), "Exit codes:\n  0 ", "\n  130 ", "Examples:\n$ millrace"} {
			if !strings.Contains(help, part) {
				t.Errorf("help of %s lacks %q", strings.Join(path, " "), part)
			}
		}
		for _, line := range strings.Split(c.Long, "\n") {
			if n := utf8.RuneCountInString(line); path[0] == "rfile" && n > helpWidth {
				t.Errorf("help of %s has a line of %d characters: %s", strings.Join(path, " "), n, line)
			}
		}
		if path[0] == "rfile" && !strings.Contains(help, "\nMemory: ") {
			t.Errorf("help of %s does not say what bounds its memory", strings.Join(path, " "))
		}
		if n := strings.Count(c.Example, "$ millrace "); n < 2 {
			t.Errorf("help of %s has %d examples, want two", strings.Join(path, " "), n)
		}
	})
}

// TestExamples runs every example of every help text, in a directory with all golden files and, for the command script,
// its scripts, and compares the output.
func TestExamples(t *testing.T) {
	golden, err := filepath.Glob(goldenDir + "/v8_*")
	if err != nil {
		t.Fatal(err)
	}
	for i := range golden {
		golden[i] = filepath.Base(golden[i])
	}
	everyCommand(func(path []string, c *cobra.Command) {
		t.Run(strings.Join(path, " "), func(t *testing.T) {
			s := newShell(t, golden...)
			copyScripts(t, path[0])
			for _, example := range strings.Split("\n"+c.Example, "\n$ ")[1:] {
				command, want, _ := strings.Cut(strings.TrimRight(example, "\n"), "\n")
				got := s.pipeline(command)
				if !matches(want+"\n", got) {
					t.Errorf("$ %s\n--- in the help\n%s\n--- as it is\n%s", command, want, got)
				}
			}
		})
	})
}

// pipeline runs commands joined by "|" and returns what the last printed, with the last line of standard error behind.
func (s *shell) pipeline(line string) string {
	var r result
	for _, command := range strings.Split(line, " | ") {
		words := strings.Fields(strings.ReplaceAll(command, "'", ""))
		s.stdin = strings.NewReader(r.out)
		r = s.run(words[1:]...)
	}
	return r.out + r.stderr
}

// matches says whether a text is what an example shows: "…" stands for anything, on a line of its own for lines.
func matches(want, got string) bool {
	pattern := regexp.QuoteMeta(want)
	pattern = regexp.MustCompile(`(?m)^…\n`).ReplaceAllString(pattern, `(?s:.*)`)
	pattern = strings.ReplaceAll(pattern, "…", `[^\n]*`)
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(got)
}

func TestMatches(t *testing.T) {
	f := func(want, got string, ok bool) {
		t.Helper()
		if matches(want, got) != ok {
			t.Errorf("matches(%q, %q) is not %v", want, got, ok)
		}
	}
	f("a\n", "a\n", true)
	f("a\n", "b\n", false)
	f("a…c\n", "abbc\n", true)
	f("a…c\n", "ab\nc\n", false)
	f("a\n…\nz\n", "a\nb\nc\nz\n", true)
	f("a\n…\n", "a\n", true)
	f("a\n…\n", "b\na\n", false)
	f("a.c\n", "abc\n", false)
}
