package probe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/confproto"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// confFlags are the flags of conf.
type confFlags struct {
	programs    *cli.Choice[[]uint32]
	call, reply reach.InlineFlag
	crc         *cli.Choice[iwarp.CRC]
	json        bool
	remote.Identity
}

func newConfFlags() *confFlags {
	return &confFlags{
		programs: cli.NewChoice("both", cli.Named("both", []uint32{confproto.Program, confproto.ProgramRFC5666}),
			cli.Named("draft", []uint32{confproto.Program}), cli.Named("rfc5666", []uint32{confproto.ProgramRFC5666})),
		call:     rpcrdma.MaxInline,
		reply:    rpcrdma.MaxInline,
		crc:      reach.NewCRC(),
		Identity: remote.OwnIdentity(),
	}
}

// NewConf returns the command conf.
func NewConf() *cobra.Command {
	flags := newConfFlags()
	cmd := &cobra.Command{
		Use:   "conf rdma://HOST[:PORT | ?rpcbind[=PORT]]",
		Short: "Show what a server answers to CONF_RDMA",
		Long: `Conf calls CONF_RDMA, by which a client and a server agree on what their connection over RDMA
can do, and shows the result: the largest messages in one Send and the alignment of data in
calls, in bytes, and how many RDMA Reads may be under way at either end.

For each of these it shows what the setup of the connection gave, with or without the private
data of RFC 8797; what conf asked for; what the server answered; and what is now in force. A
dash means that the message has no such field. The connection is conf's own: those of others do
not change. Conf speaks the draft's dialect (--dialect draft of other commands), in which the
alignment is in force, too. The server may speak either dialect.

CONF_RDMA is from an Internet-Draft that came before RFC 8166. RFC 8166 does not have it, and
neither does Linux. If the server does not have it, conf prints that; this is no failure. A
server may offer it only to callers that prove who they are: write ?sec=krb5 in the URL, for
Kerberos.`,
		Example: `  rpcrdma conf rdma://host
  rpcrdma conf --call 8KiB --reply 8KiB rdma://host:20050`,
		Args: oneServer,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.Become(cmd.Flags().Changed); err != nil {
				return err
			}
			t, err := parseConfTarget(args[0])
			if err != nil {
				return cli.UsageError{Err: err}
			}
			return conf(cmd.Context(), flags, t, cmd.OutOrStdout())
		},
		ValidArgsFunction: completeServer,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Var(flags.programs, "program", "program number: "+flags.programs.Names()+"; draft is 100400, rfc5666 is "+
		"100417, both tries draft, then rfc5666, and takes the first of them that answers")
	f.Var(&flags.call, "call", "largest call in one Send to ask for")
	f.Var(&flags.reply, "reply", "largest reply in one Send to ask for")
	cli.AddJSONFlag(f, &flags.json, "one object")
	c := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.SortFlags = false
	flags.AddFlags(c)
	reach.AddCRCFlag(c, flags.crc)
	cli.AddConnectionFlags(cmd, c)
	return cmd
}

// oneServer checks the arguments of commands that take the URL of one server.
func oneServer(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return cli.UsageError{Err: errors.New("no URL: write rdma://HOST")}
	case len(args) > 1:
		return cli.UsageError{Err: fmt.Errorf("unknown argument %q: one server at a time", args[1])}
	}
	return nil
}

// parseConfTarget parses the URL of a server.
func parseConfTarget(url string) (reach.Target, error) {
	scheme, _, _ := strings.Cut(url, "://")
	switch {
	case !reach.IsURL(url):
		return reach.Target{}, fmt.Errorf("%s: not a URL: write rdma://HOST", cli.Printable(url))
	case !strings.HasPrefix(strings.ToLower(scheme), "rdma"):
		return reach.Target{}, fmt.Errorf("%s: CONF_RDMA is for connections over RDMA: write rdma://HOST",
			cli.Printable(url))
	}
	t, err := reach.ParseTarget(url)
	switch {
	case err != nil:
		return t, err
	case t.Path != "/":
		return t, fmt.Errorf("%s: conf takes a server, not a file: write %s", t, t.Server())
	case t.MountPort != 0:
		return t, fmt.Errorf("%s: mountport is only for commands on files: write %s", t, t.Server())
	}
	return t, nil
}

// completeServer completes the scheme of a server's URL over RDMA.
func completeServer(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	words := slices.DeleteFunc(remote.SchemesLike(word), func(s string) bool { return !strings.HasPrefix(s, "rdma") })
	if len(args) > 0 || len(words) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
