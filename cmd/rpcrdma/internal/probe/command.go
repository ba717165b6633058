package probe

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
)

// Flags are how long probe waits, how it prints, and how it connects.
type Flags struct {
	JSON        bool
	Timeout     limitFlag
	Connections *remote.Flags
}

// NewFlags returns what probe does by default.
func NewFlags() *Flags {
	return &Flags{
		Timeout:     limitFlag{remote.WaitFlag{Duration: 5 * time.Second}},
		Connections: remote.NewFlags(),
	}
}

// NewCommand returns the command probe.
func NewCommand() *cobra.Command {
	flags := NewFlags()
	cmd := &cobra.Command{
		Use:   "probe URL | HOST[:PORT]",
		Short: "Find out what is at a server, and why it cannot be mounted",
		Long: `Probe looks at a server step by step, and says of each step what it found and what to do.
It is for a mount that waits in silence. A step that fails ends those that depend on it.

The steps: the name; what rpcbind says; whether RoCE may be there; who listens at the port of the
URL and at those that NFS has as a rule; the setup of iWARP (revision, markers, CRC, RDMA Reads,
private data), where the URL is one of iWARP; a first call, with credits and inline sizes;
CONF_RDMA; programs and versions, and whether the server takes Kerberos; the exports, and whether
this host may mount each; what the caller may do in the root directory of the export, and with
AUTH_SYS whether user 0 is taken for nobody; a read of some bytes, of the file that the URL names
or of the first that is found; and the MTU of the path.

Where an export wants Kerberos, calls have it, by the tickets of kinit or --keytab, as ?sec= in
the URL says or else as the server does. What is missing is named: no-ticket, ticket-expired, or
host-by-address, for which the URL is to have the host's full name.

Nothing is written to the server's files. Each step has --timeout; all of them together take
less than a minute by default. The exit code is 0 if no step fails, else 1.

With --json one document is printed at the end. Of its findings each has a step, a status (ok,
note, warn, fail or skipped), what was found, what to do, and where there is a known one a cause,
such as ports-swapped, which stays the same from version to version.`,
		Example: `  rpcrdma probe rdma://host/export
  rpcrdma probe --json tcp://host:2049
  rpcrdma probe --uid 1000 --timeout 2s 'rdma://host/export?mountport=892'`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return cli.Usagef("no server: write rdma://HOST, or tcp://")
			case len(args) > 1:
				return cli.Usagef("unknown argument %q: one server at a time", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := ParseTarget(args[0])
			if err != nil {
				return err
			}
			flags.Connections.Become(cmd.Flags().Changed)
			p, err := NewProber(flags, t, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			return p.Run(cmd.Context())
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, word string) ([]string,
			cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return remote.SchemesLike(word),
				cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&flags.JSON, "json", false, "print one JSON document at the end")
	f.Var(&flags.Timeout, "timeout", "how long to wait in each step")
	c := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.SortFlags = false
	flags.Connections.Identity.AddFlags(c)
	c.Var(&flags.Connections.Inline, "inline", "largest message in one Send, each way, over RDMA")
	reach.AddCRCFlag(c, flags.Connections.CRC)
	reach.AddDialectFlag(c, flags.Connections.Dialect)
	flags.Connections.TLS.AddFlags(c,
		"`FILE` with a certificate to show to a server that is reached with ?tls",
		"`FILE` with the authorities of servers' certificates; without it those of this host")
	cli.AddConnectionFlags(cmd, c)
	return cmd
}

// ParseTarget parses a URL, or the name of a host. The error is a UsageError.
func ParseTarget(s string) (reach.Target, error) {
	if !reach.IsURL(s) {
		s = fmt.Sprintf("rdma://%s", s)
	}
	return reach.ParseTarget(s)
}
