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

// Flags are the flags of probe.
type Flags struct {
	JSON        bool
	Timeout     limitFlag
	Connections *remote.Flags
}

// NewFlags returns the defaults of probe.
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
		Short: "Examine a server, and find out why it cannot be mounted",
		Long: `Probe examines a server step by step. It prints for each step what it found, and what to do
about it. Use it when a mount waits in silence. If a step fails, probe skips those that depend
on it.

The steps are:

  the name of the host
  what rpcbind says
  whether RoCE may be there (for URLs of RoCE, or if the port does not speak as the URL says)
  who listens at the port of the URL, and at the usual ports of NFS
  the iWARP setup: revision, markers, CRC, RDMA Reads, private data (for URLs of iWARP)
  a first call, with credits and inline sizes
  CONF_RDMA
  programs and versions, and whether the server takes Kerberos
  the exports, and whether this host may mount each of them
  what the caller may do in the root directory of the export
  as root, over iWARP: whether calls from a port above 1023 are taken, such as Linux's
  with AUTH_SYS, whether the server squashes user 0
  a read of some bytes, of the file that the URL names or else of the first one found
  the MTU of the path

If an export wants Kerberos, probe calls with the tickets of kinit or with --keytab, and with
the flavour of ?sec= in the URL, or else with the one that the server asks for. It names what is
missing: no-ticket, ticket-expired, or host-by-address, for which the URL needs the host's full
name.

Probe writes nothing to the server's files. Each step takes at most --timeout; by default all of
them together take less than a minute. The exit code is 0 if no step fails, else 1.

docs/concepts.md explains credits, inline sizes, IRD and ORD.

With --json, probe prints one document at the end. Each of its findings has a step, a status
(ok, note, warn, fail or skipped), what was found, and what to do. If probe knows the cause, the
finding names it, such as ports-swapped; these names stay the same from version to version.`,
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
			if err := flags.Connections.Become(cmd.Flags().Changed); err != nil {
				return err
			}
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
	f.Var(&flags.Timeout, "timeout", "how long each step may take, such as 500ms or 5s")
	c := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.SortFlags = false
	flags.Connections.Identity.AddFlags(c)
	c.Var(&flags.Connections.Inline, "inline", "largest message in one Send over RDMA, in each direction")
	reach.AddCRCFlag(c, flags.Connections.CRC)
	reach.AddDialectFlag(c, flags.Connections.Dialect)
	flags.Connections.TLS.AddFlags(c,
		"`FILE` with a certificate to show to a server with ?tls in the URL, in PEM",
		"`FILE` with the authorities of servers' certificates, in PEM; default those of this host")
	cli.AddConnectionFlags(cmd, c)
	return cmd
}

// ParseTarget parses a URL or the name of a host. The error is a cli.UsageError.
func ParseTarget(s string) (reach.Target, error) {
	if !reach.IsURL(s) {
		s = fmt.Sprintf("rdma://%s", s)
	}
	return reach.ParseTarget(s)
}
