package probe

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// PingFlags are the flags of ping.
type PingFlags struct {
	count       remote.Count
	interval    remote.WaitFlag
	timeout     limitFlag
	program     number
	version     number
	json        bool
	connections *remote.Flags
}

// NewPing returns the command ping.
func NewPing() *cobra.Command {
	flags := &PingFlags{
		count:       remote.Count{N: math.MaxInt32, Max: math.MaxInt32},
		interval:    remote.WaitFlag{Duration: time.Second},
		timeout:     limitFlag{remote.WaitFlag{Duration: 5 * time.Second}},
		program:     nfs3.Program,
		version:     nfs3.Version,
		connections: remote.NewFlags(),
	}
	cmd := &cobra.Command{
		Use:   "ping URL | HOST[:PORT]",
		Short: "Call a server's NULL procedure, and show how long that takes",
		Long: `Ping connects to a server and calls NULL, the procedure of every RPC program that does nothing,
once a second. It calls the NULL of NFS by default. It prints how long each call took, and at
the end a summary of all of them.

A HOST without a scheme is reached over RDMA. If the connection ends, the next call makes it
again, and fails if that takes longer than --timeout. Ping ends after --count calls or on an
interrupt. The exit code is 0 if any call was answered, else 1, after an interrupt as well.`,
		Example: `  rpcrdma ping rdma://host
  rpcrdma ping --count 1000 --interval 0 tcp://host:2049
  rpcrdma ping --program 100005 --version 3 host:20050`,
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
			t, err := parsePingTarget(args[0])
			if err != nil {
				return cli.UsageError{Err: err}
			}
			return NewPinger(flags, t, cmd.OutOrStdout()).run(cmd.Context())
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return remote.SchemesLike(word), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Var(&flags.count, "count", "`NUMBER` of calls; default no end")
	f.Lookup("count").DefValue = "" // shows none
	f.Var(&flags.interval, "interval",
		"time from one call to the next, such as 200ms; 0 makes each call as soon as the last one has ended")
	f.Var(&flags.timeout, "timeout", "how long to wait for an answer, and for a connection, such as 500ms")
	f.Var(&flags.program, "program", "`NUMBER` of the program to call; 100003 is NFS")
	f.Var(&flags.version, "version", "`NUMBER` of the version of the program")
	cli.AddJSONFlag(f, &flags.json, "one object at the end")
	c := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.SortFlags = false
	reach.AddCRCFlag(c, flags.connections.CRC)
	reach.AddDialectFlag(c, flags.connections.Dialect)
	cli.AddConnectionFlags(cmd, c)
	return cmd
}

// parsePingTarget parses the URL of a server, or its name.
func parsePingTarget(s string) (reach.Target, error) {
	if !reach.IsURL(s) {
		s = "rdma://" + s
	}
	t, err := reach.ParseTarget(s)
	switch {
	case err != nil:
		return t, err
	case t.Path != "/":
		return t, fmt.Errorf("%s: ping takes a server, not a file: write %s", t, t.Server())
	case t.MountPort != 0:
		return t, fmt.Errorf("%s: mountport is only for commands on files: write %s", t, t.Server())
	}
	return t, nil
}

// limitFlag is a time above 0.
type limitFlag struct{ remote.WaitFlag }

// Set takes a number with a unit.
func (l *limitFlag) Set(s string) error {
	var w remote.WaitFlag
	if err := w.Set(s); err != nil || w.Duration == 0 {
		return errors.New("write a number above 0 and its unit (ms, s, m or h), such as 500ms")
	}
	l.WaitFlag = w
	return nil
}

// number is the number of an RPC program, or of a version.
type number uint32

// Set takes a number.
func (n *number) Set(s string) error {
	v, err := strconv.ParseUint(strings.TrimSpace(s), 0, 32)
	if err != nil {
		return errors.New("write a number from 0 to 4294967295")
	}
	*n = number(v)
	return nil
}

// String returns the number.
func (n *number) String() string { return strconv.FormatUint(uint64(*n), 10) }

// Type names the value in the usage.
func (n *number) Type() string { return "NUMBER" }
