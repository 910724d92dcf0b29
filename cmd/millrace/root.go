package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"millrace/internal/nearest"
)

// newRoot makes the tree of commands for one run.
func newRoot(e *env) *cobra.Command {
	root := newGroup("millrace", "Accumulo's tablet storage core", `
Millrace is Apache Accumulo's tablet storage core: it reads, checks, writes and compacts Accumulo's RFiles.

Data goes to standard output, everything else to standard error; progress is drawn only on a terminal. Sizes take K, M
and G, powers of 1024. Output files are never overwritten without --force, and appear only when they are complete.`[1:],
		newRfile(e), newStore(e), newScript(e), newSim(e), newVersion(e), newCompletion(e))
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(e.in)
	root.SetOut(e.out)
	root.SetErr(e.err)
	root.SetHelpTemplate(helpTemplate)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp())
	return root
}

func newHelp() *cobra.Command {
	m := manual{
		use:   "help [COMMAND]",
		short: "help on a command",
		long:  `Prints what --help prints for a command.`,
		examples: `
$ millrace help rfile verify
Reads whole files and says whether they can be trusted.
…
$ millrace help rfile
Commands on RFiles, Accumulo's sorted files. No Java and no Hadoop is needed.
…`[1:],
	}
	return newCommand(m, cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
		return helpOn(cmd.Root(), args)
	})
}

// versionDocument is what "version --format json" prints.
type versionDocument struct {
	Schema   string `json:"schema"`
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func newVersion(e *env) *cobra.Command {
	m := manual{
		use:   "version",
		short: "version of this program",
		long:  `Prints the version of the program, the commit it was built from if that is known, and the Go release and machine.`,
		examples: `
$ millrace version
millrace …
$ millrace version --format json
{
  "schema": "millrace.version/1",
…
}`[1:],
	}
	var f format
	c := newCommand(m, args(0, 0, "none"), func(*cobra.Command, []string) error {
		v := buildVersion()
		if f.is(formatJSON) {
			return e.writeJSON(v)
		}
		revision := ""
		if v.Revision != "" {
			revision = fmt.Sprintf(" (%.12s%s)", v.Revision, map[bool]string{true: ", modified"}[v.Modified])
		}
		_, err := fmt.Fprintf(e.out, "millrace %s%s %s %s/%s\n", v.Version, revision, v.Go, v.OS, v.Arch)
		return err
	})
	f.register(c, formatText, formatJSON)
	return c
}

func buildVersion() versionDocument {
	v := versionDocument{Schema: "millrace.version/1", Version: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func newCompletion(e *env) *cobra.Command {
	m := manual{
		use:   "completion SHELL",
		short: "script that completes commands and flags in a shell",
		long: `Prints a script for bash, zsh, fish or powershell that makes the shell complete millrace's commands, flags and file
names. Load it from the shell's start file.`,
		examples: `
$ millrace completion bash
# bash completion V2 for millrace                             -*- shell-script -*-
…
$ millrace completion fish
# fish completion for millrace                             -*- shell-script -*-
…`[1:],
	}
	shells := []string{"bash", "zsh", "fish", "powershell"}
	c := newCommand(m, args(1, 1, "one shell: bash, zsh, fish or powershell"), func(cmd *cobra.Command, args []string) error {
		root := cmd.Root()
		switch args[0] {
		case "bash":
			return root.GenBashCompletionV2(e.out, true)
		case "zsh":
			return root.GenZshCompletion(e.out)
		case "fish":
			return root.GenFishCompletion(e.out, true)
		case "powershell":
			return root.GenPowerShellCompletionWithDesc(e.out)
		}
		return usagef("no completion for shell %q, nearest is %q", args[0], nearest.Name(args[0], shells))
	})
	c.ValidArgs = shells
	return c
}
