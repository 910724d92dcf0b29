package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// manual is a command's help.
type manual struct {
	use    string // name and arguments
	short  string // one line for the list of commands
	long   string // what it does
	memory string // what bounds it
	exits  []int  // exit codes beside those that every command has
	// meaning says what an exit code means where the command knows better than exitCodes.
	meaning  map[int]string
	examples string // command lines after "$ ", their output below; "…" stands for what differs from run to run
}

// exitCodes is what a command's end tells the shell. The errors behind them are in tablet.OutcomeOf.
var exitCodes = map[int]string{
	0:   "done",
	1:   "failed: a file is missing or cannot be read or written",
	2:   "wrong usage",
	3:   "data is damaged",
	4:   "an expectation was not met",
	5:   "the store is locked",
	6:   "valid, but not supported: encrypted, or of an unknown version or codec",
	130: "interrupted, and cleaned up",
}

// newCommand makes a command of its manual. check looks at the number of arguments; see args.
func newCommand(m manual, check cobra.PositionalArgs, run func(*cobra.Command, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: m.use, Short: m.short, Long: m.text(), Example: strings.TrimRight(m.examples, "\n"),
		Args: check, RunE: run, DisableFlagsInUseLine: true,
	}
}

// newGroup makes a command that only holds others.
func newGroup(name, short, long string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name + " COMMAND", Short: short, Long: long, DisableFlagsInUseLine: true,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] != "help" {
				return unknownCommand(cmd, args[0])
			}
			return helpOn(cmd, args[min(len(args), 1):])
		}}
	c.AddCommand(commands...)
	return c
}

// helpOn prints the help of the command that names lead to from a group.
func helpOn(of *cobra.Command, names []string) error {
	for _, name := range names {
		next, _, err := of.Find([]string{name})
		if err != nil || next == of {
			return unknownCommand(of, name)
		}
		of = next
	}
	of.InitDefaultHelpFlag()
	return of.Help()
}

func (m manual) text() string {
	text := strings.TrimSpace(m.long)
	if m.memory != "" {
		text += "\n\nMemory: " + m.memory
	}
	codes := append([]int{0, 1, 2, 130}, m.exits...)
	slices.Sort(codes)
	text += "\n\nExit codes:"
	for _, code := range codes {
		text += fmt.Sprintf("\n  %-3d %s", code, cmp.Or(m.meaning[code], exitCodes[code]))
	}
	return text
}

// args checks the number of arguments: at least low, at most high unless that is negative. what names them.
func args(low, high int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < low:
			return usagef("too few arguments, want %s", what)
		case high >= 0 && len(args) > high:
			return usagef("argument %q is one too many, want %s", args[high], what)
		}
		return nil
	}
}

// helpTemplate prints a command's help.
const helpTemplate = `{{.Long}}

Usage:
  {{.UseLine}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if or .IsAvailableCommand (eq .Name "help")}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}

"{{.CommandPath}} COMMAND --help" says more.{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 110 | trimTrailingWhitespaces}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}
`
