package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // what was asked for did not work
	exitUsage  = 2 // it is not clear what was asked for

	exitInterrupted = 128 + 2 // by SIGINT, as shells say it
)

// checkedWriter remembers an error of the writer below, so that what could not be printed is not
// reported as done.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// printable returns a name as it can be shown on a terminal: quoted if it has more than printable characters, or a space at an end.
func printable(name string) string {
	if name == "" || name != strings.TrimSpace(name) || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// long finds what is too long to be shown, and its two ends.
var long = regexp.MustCompile(`(\S{120})\S{80,}(\S{60})`)

// cut leaves out the middle of overlong words, such as names, of a message.
func cut(message string) string { return long.ReplaceAllString(message, "$1...$2") }

// usageError is a command line that cannot be carried out.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// run executes a command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	defer closeSCTP()
	root := &cobra.Command{
		Use:   "rpcrdma",
		Short: "ONC RPC over RDMA, in user space",
		Long: `Rpcrdma serves files by NFS version 3 over RDMA, by iWARP or RoCE in software, and over TCP, and reaches
files on such servers, Linux's included, without mounting them.

Files are named by URLs:

  rdma://HOST[:PORT]/PATH[?mountport=PORT]
  tcp://HOST[:PORT]/PATH[?mountport=PORT][&tls], with TLS if that is said
  rdma://HOST/PATH?rpcbind[=PORT], and tcp
  rdma+roce://HOST[:PORT]/PATH, over RoCE
  rdma+sctp://HOST[:PORT]/PATH[?udp=PORT], over SCTP in that UDP port, 9899 unless named

PATH begins with the path of an export: ls rdma://HOST/ lists the exports. The port is 20049 for
rdma and 20048, that of serve, for tcp; Linux's server has 2049 for tcp. With ?rpcbind it is the
one that HOST names when it is asked, at port 111 or that PORT, over TCP and over RDMA. A
mountport is needed only for a server whose MOUNT is not found by itself; & joins the two. In
names %, ? and # are written %25, %3F and %23. All other bytes may be as they are, or as % and
two hexadecimal digits; quote what the shell takes for something else.

The exit code is 0 if all is done, 1 if something failed, 2 if the command line is wrong, and
130 after an interrupt (except ping: see there).`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[:1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.SetArgs(append([]string{}, args...)) // for nil, cobra takes those of the process
	out := &checkedWriter{w: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	addCommands(root)

	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = out.err
	}
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "rpcrdma: interrupted")
		return exitInterrupted
	case errors.Is(err, errReported):
		return exitFailed
	}
	fmt.Fprintln(stderr, "rpcrdma:", cut(err.Error()))
	if errors.As(err, new(usageError)) {
		fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailed
}
