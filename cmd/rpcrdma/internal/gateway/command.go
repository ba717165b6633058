package gateway

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// NewCommand returns the command gateway.
func NewCommand() *cobra.Command { return CommandFor(NewConfig(rpcbind.DialLocal)) }

// CommandFor returns the command with other defaults.
func CommandFor(cfg *Config) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gateway --to rdma://HOST[:PORT | ?rpcbind[=PORT]]",
		Short: "Let clients without RDMA reach a server over RDMA",
		Long: `Gateway takes RPC over TCP and passes it on to a server over RDMA, by iWARP in software, so that
ordinary NFS clients reach a server that has RDMA only: Linux over TCP, libnfs, and all others.
Linux mounts through it with the command that it prints when it is ready.

Each connection of a client has a connection to the server of its own. When one of the two
ends the other does, and the client connects again, as it does with any server. What a client
says of its user is passed on as it is: the server sees the gateway's address, and trusts the gateway with
all of it. So it listens on 127.0.0.1 unless --listen says otherwise, and then --allow names
networks that you trust. On 127.0.0.1 it takes calls of all users of this host, as whoever they say they are.
Calls with Kerberos (RPCSEC_GSS) pass whole and as they are: client and server prove who they are to
each other, and the gateway can neither read what krb5p encrypts nor change what krb5i protects.
Such clients name the server as its keytab does, with a name that leads to the gateway.

The data of NFS version 3 goes by RDMA straight from and to the memory from which it is sent over TCP. For
replies of other programs, whose size is not known beforehand, there is memory for --max-reply, which also
is the most that one READ returns.

MOUNT goes to the server, too, or where --mount-to says. A server that has no MOUNT over RDMA,
such as Linux's, is asked by rpcbind for the port over TCP; without rpcbind, it is port 20048.

With --rpcbind, clients need to know no port, and showmount -e and rpcinfo work. A host can have
one NFS server in rpcbind: one that answers stays, and gateway fails; one that does not is
replaced. The port answers the look-ups of rpcbind in any case.

With --config, a file has values for these flags under their names, such as to = "rdma://server".
A flag that may be repeated takes a list: allow = ["192.0.2.0/24", "2001:db8::/32"]. What the
command line has of a flag replaces what the file has. The file is read once, at the start.

SIGTERM, SIGINT and SIGHUP end the gateway in order: it takes no more calls, waits for the
replies to those under way, for up to 10 seconds, and exits with 0. It exits with 1 if something fails,
such as a port that is taken, and with 2 if the command line is wrong. A server that cannot be
reached is no failure: a message says so at once, and clients' calls wait until it can.`,
		Example: `  # A server of the same network, for this host
  rpcrdma gateway --to rdma://server

  # For a network; clients find the port by rpcbind
  rpcrdma gateway --to rdma://server:20050 --listen :2049 --allow 192.168.1.0/24 --rpcbind

  # MOUNT at a port that rpcbind does not tell
  rpcrdma gateway --to rdma://server --mount-to tcp://server:892`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UsageError{Err: fmt.Errorf("unknown argument %q: the server is named with --to%s", args[0], daemon.DebugHint(cmd.Flags(), args[0]))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cfg.check(); err != nil {
				return cli.UsageError{Err: err}
			}
			log, end := cfg.logging.Start(cmd.ErrOrStderr())
			defer end()
			return run(cmd.Context(), cfg, cmd.OutOrStdout(), log)
		},
	}
	cfg.addFlags(cmd)
	return cmd
}
