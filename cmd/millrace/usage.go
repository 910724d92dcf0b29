package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"millrace/internal/nearest"
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
		text = strings.ReplaceAll(text, "compaction: "+context.Canceled.Error(), "interrupted")
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
		return usagef("%s", plainNumber(err))
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
	return usagef("unknown flag --%s, nearest is --%s", name, nearest.Name(name, names))
}

// plainNumber puts what package strconv says of a flag's value into words.
func plainNumber(err error) string {
	text := err.Error()
	var number *strconv.NumError
	if !errors.As(err, &number) {
		return text
	}
	reason := "not a whole number"
	switch {
	case errors.Is(err, strconv.ErrRange):
		reason = "out of range"
	case number.Func == "ParseBool":
		reason = "neither true nor false"
	case number.Func == "ParseFloat":
		reason = "not a number"
	}
	return strings.Replace(text, number.Error(), reason, 1)
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
	return usagef("unknown command %q, nearest is %q", name, nearest.Name(name, subcommands(parent)))
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
