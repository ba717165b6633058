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
	root.SetArgs(append([]string{}, args...)) // cobra replaces nil by os.Args
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
	if errors.As(err, new(cli.UsageError)) && !errors.Is(err, cli.ErrLookUp) {
		fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
		return cli.ExitUsage
	}
	return cli.ExitFailed
}

// newRoot returns the root command with all commands, which print to stdout and stderr.
func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "rpcrdma",
		Short: "ONC RPC over RDMA, in user space",
		Long: `Rpcrdma serves files by NFS version 3, over RDMA and over TCP. It also reads and writes files on
such servers without mounting them, Linux's servers included. RDMA is iWARP or RoCE in software,
and needs no RDMA hardware.

Files are named by URLs:

  rdma://HOST[:PORT]/PATH[?mountport=PORT]        over RDMA, by iWARP
  rdma+roce://HOST[:PORT]/PATH                    over RDMA, by RoCE
  rdma+sctp://HOST[:PORT]/PATH[?udp=PORT]         over RDMA, by iWARP on SCTP in UDP
  tcp://HOST[:PORT]/PATH[?mountport=PORT][&tls]   over TCP, with &tls encrypted
  rdma://HOST/PATH?rpcbind[=PORT]                 at the port that HOST's rpcbind names; tcp, too
  nfs://HOST/PATH                                 the same as tcp://HOST/PATH?rpcbind
  nfs://HOST:PORT/PATH                            the same as tcp://HOST:PORT/PATH

PATH begins with the path of an export; rpcrdma ls rdma://HOST/ lists the exports. Options begin
with ? and are joined with &.

The default port is 20049 for rdma, and for tcp 20048, that of rpcrdma serve; Linux's server has
port 2049 for tcp. SCTP is in UDP port 9899 by default. With ?rpcbind, rpcrdma asks HOST for the
port, at port 111 or at the PORT that the option names, over TCP and over RDMA. RFC 2224 gives
nfs:// port 2049 and the public file handle; here, write nfs://HOST:2049 for that port. A
mountport is needed only if rpcrdma cannot find the server's MOUNT by itself.

The option sec chooses how the server learns who calls:

  ?sec=sys     calls name a user by number, without proof
  ?sec=krb5    Kerberos proves who calls
  ?sec=krb5i   the same, with checksums of all data
  ?sec=krb5p   the same, with all data encrypted

Without it, rpcrdma takes the first of these that the server lists for the export and that it
has credentials for. Kerberos needs a ticket from kinit, in a file (a FILE: cache, no other
kind), and a URL with the host's name, not its address.

In names, write %25 for %, %3F for ? and %23 for #. All other bytes may be written as they are,
or as % and two hexadecimal digits. Quote what your shell would interpret.

*, [...] and [!...] in a path match names, as in a shell, where files are read, changed, moved
or removed. A file of exactly that name is taken first. Write %2A and %5B for * and [
themselves. ? is no pattern: it begins the options. It is an error if no name matches.

The exit code is 0 if everything was done, 1 if something failed, and 2 if the command line is
wrong. After a signal it is 128 plus the signal's number: 130 after an interrupt, 143 after
SIGTERM. Servers stop in order after a signal, and exit with 0; for ping, see there.`,
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
	root.SetOut(stdout) // before cobra makes its own commands, which copy it
	root.SetErr(stderr)
	addCommands(root)
	return root
}
