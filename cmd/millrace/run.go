package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"millrace/tablet"
)

// run is the program: arguments and streams in, exit code out. When ctx ends, the command cleans up and returns.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return newEnv(stdin, stdout, stderr).run(ctx, args)
}

func (e *env) run(ctx context.Context, args []string) int {
	root := newRoot(e)
	tellCompletions(root, len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd))
	root.SetArgs(append([]string{}, args...)) // never nil, which would mean the process's own
	cmd, err := root.ExecuteContextC(ctx)
	if flushErr := e.out.Flush(); err == nil {
		err = flushErr
	}
	if readerGone(err) {
		return 0
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(e.err, cmd.CommandPath()+": "+message(cmd.CommandPath(), err))
	return tablet.OutcomeOf(err).Exit
}

// readerGone says whether a command ended because whoever read its output wants no more of it. That is not a failure:
// the work was stopped, and what was asked for was given.
func readerGone(err error) bool {
	var out *stdoutError
	return errors.As(err, &out) && errors.Is(out, syscall.EPIPE)
}
