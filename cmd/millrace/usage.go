package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"millrace/tablet"
)

// usageError says what is wrong with the arguments. It is tablet.ErrUsage.
type usageError struct{ what string }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

func (e *usageError) Error() string        { return e.what }
func (e *usageError) Is(target error) bool { return target == tablet.ErrUsage }

// message is what the one line on standard error says about an error.
func message(command string, err error) string {
	text := oneLine(err.Error())
	switch {
	case errors.Is(err, context.Canceled):
		text = strings.ReplaceAll(text, context.Canceled.Error(), "interrupted")
	case errors.Is(err, tablet.ErrUsage):
		text = strings.TrimSuffix(text, ": "+tablet.ErrUsage.Error()) + " (see " + command + " --help)"
	}
	return text
}

// oneLine keeps a message from breaking the line or reaching the terminal as more than text. Joined errors, which come
// as lines, are strung together.
func oneLine(text string) string {
	return printable(strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "; "))
}

// printable returns text with everything escaped that is not plainly printable.
func printable(text string) string {
	plain := func(r rune) bool { return r != unicode.ReplacementChar && unicode.IsPrint(r) }
	if strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case plain(r):
			b.WriteRune(r)
		case r == unicode.ReplacementChar: // perhaps a byte that is not UTF-8
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// flagError is what cobra calls with an error of pflag.
func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if args := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usagef("%v", err)
	}
	if shorts := unknown.GetSpecifiedShortnames(); shorts != "" {
		return usagef("unknown flag -%s%s", string([]rune(shorts)[:1]), knownFlags(cmd))
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	name := unknown.GetSpecifiedName()
	return usagef("unknown flag --%s, nearest is --%s", name, nearest(name, names))
}

// knownFlags lists a command's one-letter flags.
func knownFlags(cmd *cobra.Command) string {
	var letters []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Shorthand != "" {
			letters = append(letters, "-"+f.Shorthand)
		}
	})
	return ", known are " + strings.Join(letters, " ")
}

func unknownCommand(parent *cobra.Command, name string) error {
	return usagef("unknown command %q, nearest is %q", name, nearest(name, subcommands(parent)))
}

func subcommands(parent *cobra.Command) []string {
	var names []string
	for _, c := range parent.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// nearest returns the name that takes the fewest edits to get to, the first of equals; "" if there is none.
func nearest(name string, names []string) string {
	best, fewest := "", 0
	for _, n := range names {
		if d := distance(name, n); best == "" || d < fewest {
			best, fewest = n, d
		}
	}
	return best
}

// distance is the least number of bytes to insert, remove or replace, or pairs of neighbours to exchange, that make b of
// a. Source: optimal string alignment.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			d := min(replaced, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
