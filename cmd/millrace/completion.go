package main

import (
	"context"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

// What a shell completes beside commands and flags. Completion reads files, as "cat --group" must, but says nothing of
// what is wrong with them.

// completeRFiles makes a command's arguments complete to RFiles and directories.
func completeRFiles(c *cobra.Command) { c.ValidArgsFunction = rfilesOnly }

func rfilesOnly(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"rf"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeFlag makes a flag complete.
func completeFlag(c *cobra.Command, flag string, f cobra.CompletionFunc) {
	all, _ := completions.Load(c)
	list, _ := all.([]completion)
	completions.Store(c, append(list, completion{flag, f}))
}

type completion struct {
	flag string
	f    cobra.CompletionFunc
}

// completions are the flags of commands that were made and not run yet: []completion by *cobra.Command. Cobra is told of them
// only when a shell asks, since it keeps what it was told, and the command with it, for as long as the process lives.
var completions sync.Map

// tellCompletions is called once for each tree of commands that is run.
func tellCompletions(c *cobra.Command, asked bool) {
	all, _ := completions.LoadAndDelete(c)
	list, _ := all.([]completion)
	for _, x := range list {
		if !asked {
			break
		}
		if err := c.RegisterFlagCompletionFunc(x.flag, x.f); err != nil {
			panic(err) // the flag was not registered first
		}
	}
	for _, child := range c.Commands() {
		tellCompletions(child, asked)
	}
}

// completeDirThenRFiles makes the first argument complete to directories, the others to RFiles.
func completeDirThenRFiles(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return rfilesOnly(cmd, args, text)
}

// classes completes names, to which options can be added.
func classes(names []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
		if strings.Contains(text, ",") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// iteratorNames completes the beginning of an iterator's setting: its name, and after class= its class.
func iteratorNames(_ *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
	const both = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	var out []string
	if at := strings.LastIndex(text, ",class="); at >= 0 {
		before := text[:at+len(",class=")]
		for _, n := range iter.Names() {
			out = append(out, before+n)
		}
		return out, both
	}
	if strings.Contains(text, "=") {
		return nil, both
	}
	for _, n := range iter.Names() {
		out = append(out, n+"=")
	}
	return out, both
}

// groupNames completes the named groups of the file that the first argument names.
func (e *env) groupNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) == 0 {
		return nil, none
	}
	f, err := e.open(args[0])
	if err != nil {
		return nil, none
	}
	r, err := rfile.Open(f, rfile.ReaderOptions{})
	if err != nil {
		return nil, none
	}
	var names []string
	for _, g := range r.Groups() {
		if !g.Default {
			names = append(names, string(appendText(nil, []byte(g.Name), 0)))
		}
	}
	if r.Close() != nil {
		return nil, none
	}
	return names, none
}

// familyNames completes the families that the file which the first argument names lists.
func (e *env) familyNames(_ *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	const both = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) == 0 {
		return nil, both
	}
	info, err := e.inspect(context.Background(), args[0])
	if err != nil {
		return nil, both
	}
	before := text[:strings.LastIndexByte(text, ',')+1]
	var names []string
	for _, g := range info.Groups {
		for _, f := range g.group.Families {
			names = append(names, before+string(appendText(nil, f.Family, escapeList)))
		}
	}
	return names, both
}
