package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
)

// run executes a command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	defer reach.CloseSCTP()
	out := &cli.CheckedWriter{W: stdout}
	root := newRoot(out, stderr)
	root.SetArgs(append([]string{}, args...)) // for nil, cobra takes those of the process
	unknown := initUnknown(root)

	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = unknown()
	}
	if err == nil {
		err = out.Err
	}
	switch {
	case err == nil:
		return cli.ExitOK
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		text := "interrupted"
		if cause := new(cli.SignalError); errors.As(context.Cause(ctx), cause) {
			text = cause.Error()
		}
		fmt.Fprintln(stderr, "rpcrdma:", text)
		return cli.ExitCode(ctx)
	case errors.Is(err, cli.ErrReported):
		return cli.ExitFailed
	}
	fmt.Fprintln(stderr, "rpcrdma:", cli.Cut(err.Error()))
	if errors.As(err, new(cli.UsageError)) {
		fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
		return cli.ExitUsage
	}
	return cli.ExitFailed
}

// newRoot returns the command line with all commands, which print to stdout and stderr.
func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "rpcrdma",
		Short: "ONC RPC over RDMA, in user space",
		Long: `Rpcrdma serves files by NFS version 3 over RDMA, by iWARP or RoCE in software, and over
TCP, and reaches files on such servers, Linux's included, without mounting them.

Files are named by URLs:

  rdma://HOST[:PORT]/PATH[?mountport=PORT]
  tcp://HOST[:PORT]/PATH[?mountport=PORT][&tls], with TLS if that is said
  rdma://HOST/PATH?rpcbind[=PORT], and tcp
  nfs://HOST/PATH, the same as tcp://HOST/PATH?rpcbind, and with a port as tcp
  rdma+roce://HOST[:PORT]/PATH, over RoCE
  rdma+sctp://HOST[:PORT]/PATH[?udp=PORT], over SCTP in that UDP port, 9899 unless named

PATH begins with the path of an export: ls rdma://HOST/ lists the exports. The port is 20049 for
rdma and 20048, that of serve, for tcp; Linux's server has 2049 for tcp. With ?rpcbind it is the
one that HOST names when it is asked, at port 111 or that PORT, over TCP and over RDMA; RFC 2224
would have nfs:// take 2049 and the public file handle: write nfs://HOST:2049 for the port. A
mountport is needed only for a server whose MOUNT is not found by itself; & joins the two.

?sec=sys, krb5, krb5i or krb5p, in any of these, is how calls say who calls: by his number, or with
Kerberos, by which he proves it, with checksums of all data, or encrypted. Without it, it is the
first that the server lists for the export and that there are credentials for. Kerberos takes a
ticket, which kinit gets, in a file (FILE: and no other kind of cache), and the host's name in place
of its address.

In names %, ? and # are written %25, %3F and %23. All other bytes may be as they are, or as % and
two hexadecimal digits; quote what the shell takes for something else.

*, [...] and [!...] in the path of what is read, changed, moved or removed stand for names, as in
shells, unless there is a file of that very name; %2A and %5B stand for themselves. ? does not: it
begins the options. That nothing matches is an error.

The exit code is 0 if all is done, 1 if something failed, 2 if the command line is wrong, and
after a signal 128 and its number: 130 after an interrupt, 143 after SIGTERM (except of ping, see
there, and of servers, which end in order).`,
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
	root.SetFlagErrorFunc(flagError)
	root.SetOut(stdout) // before cobra's own commands are made, which keep it
	root.SetErr(stderr)
	addCommands(root)
	return root
}
