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
		Long: `Gateway lets ordinary NFS clients reach a server that speaks RDMA only: Linux over TCP, libnfs,
and all others. It takes RPC over TCP and passes it on to the server over RDMA, by iWARP in
software. When it is ready, it prints the command with which Linux mounts through it.

Each connection of a client has its own connection to the server. When one of the two ends, so
does the other; the client then connects again, as with any server.

The gateway passes on what a client says about its user. The server sees the gateway's address,
and trusts the gateway with all of it. So the gateway listens on 127.0.0.1 by default, where it
takes calls from all users of this host, whoever they say they are. With another --listen, name
the networks that you trust with --allow. A gateway that runs as root calls the server from a
port below 1024 for clients that call from such a port themselves, as Linux does without
noresvport, and for no others.

Calls with Kerberos (RPCSEC_GSS) pass unchanged. Client and server prove to each other who they
are; the gateway can neither read what krb5p encrypts nor change what krb5i protects. Such
clients must call the server by a name that its keytab has, and this name must lead to the
gateway.

Data of NFS version 3 is not copied between RDMA and TCP. Other programs do not tell the size of
a reply beforehand: for each of their calls the gateway has memory for --max-reply. That is also
the most that one READ returns.

The gateway passes MOUNT to the server, or to where --mount-to says. If a server has no MOUNT
over RDMA, as Linux's does not, the gateway asks its rpcbind for the port over TCP; without
rpcbind, it takes port 20048.

With --rpcbind, the gateway registers with this host's rpcbind. Clients then need to know no
port, and showmount -e and rpcinfo work. A host can have one NFS server in rpcbind: if another
one is there and answers, gateway fails; if it does not answer, gateway replaces it. The
gateway's port answers the look-ups of rpcbind in any case.

With --config, a file sets these flags by their names, such as to = "rdma://server". A flag that
may be repeated takes a list: allow = ["192.0.2.0/24", "2001:db8::/32"]. A flag on the command
line replaces what the file has for it. Gateway reads the file once, at the start.

SIGTERM, SIGINT and SIGHUP stop the gateway in order: it takes no new calls, waits up to 10
seconds for the replies to those under way, and exits with 0. It exits with 1 if something
fails, such as a port that is taken, and with 2 if the command line is wrong. It does not fail
if the server cannot be reached: a message says so at once, and clients' calls wait until it
can.`,
		Example: `  # A server of the same network, for this host
  rpcrdma gateway --to rdma://server

  # For a network; clients find the port by rpcbind
  rpcrdma gateway --to rdma://server:20050 --listen :2049 --allow 192.168.1.0/24 --rpcbind

  # MOUNT at a port that rpcbind does not tell
  rpcrdma gateway --to rdma://server --mount-to tcp://server:892`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UsageError{Err: fmt.Errorf("unknown argument %q: the server is named with --to%s", args[0],
					daemon.DebugHint(cmd.Flags(), args[0]))}
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
