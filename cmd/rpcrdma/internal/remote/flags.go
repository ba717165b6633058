package remote

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// maxTransfer is the largest --size, that of this module's server.
const maxTransfer = 64 << 20

// maxConnections bounds --connections.
const maxConnections = 64

// Flags are the flags of all commands that connect to a server.
type Flags struct {
	Connections Count
	Size        TransferFlag
	Parallel    Count
	Wait        WaitFlag
	Inline      reach.InlineFlag
	CRC         *cli.Choice[iwarp.CRC]
	Credits     Count
	Dialect     *cli.Choice[rpcrdma.Dialect]
	TLS         reach.TLSFiles
	Identity
	named func(flag string) bool // on the command line
}

// NewFlags returns the defaults.
func NewFlags() *Flags {
	return &Flags{
		Connections: Count{1, maxConnections},
		Size:        1 << 20,
		Parallel:    Count{8, nfsfs.MaxParallel},
		Wait:        WaitFlag{time.Minute},
		Inline:      4096,
		CRC:         reach.NewCRC(),
		Credits:     Count{64, reach.MaxCredits},
		Dialect:     reach.NewDialect(),
		Identity:    OwnIdentity(),
		named:       func(string) bool { return false },
	}
}

// dialTime bounds a step of connecting. The first connection has the time of --wait, if the flag is
// given.
func (f *Flags) dialTime(first bool) time.Duration {
	switch {
	case f.Wait.Duration == 0:
		return reach.DialTime
	case first && f.named("wait"):
		return f.Wait.Duration
	}
	return min(reach.DialTime, f.Wait.Duration)
}

// RDMA returns how to connect over RDMA.
func (f *Flags) RDMA() reach.RDMAConfig { return reach.RDMAConfig{Log: reach.Quiet, CRC: f.CRC.Value} }

// AddFlags adds the flags of Flags to a command.
func (r *Session) AddFlags(cmd *cobra.Command) {
	r.Flags = NewFlags()
	r.Stderr = func() io.Writer { return cmd.ErrOrStderr() }
	r.Flags.named = cmd.Flags().Changed
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SortFlags = false
	r.Flags.Identity.AddFlags(f)
	f.Var(&r.Flags.Wait, "wait",
		"how long to wait for a server that goes away or does not answer at all, such as 30s or 1h. A server that "+
			"answers slowly has all the time it needs. The first connection is tried once, for up to 10s, or for as "+
			"long as this flag says. 0: do not wait for a server that goes away, and wait a minute for one that "+
			"is there and silent")
	if f := cmd.Flags(); f.Lookup("verbose") == nil {
		f.BoolVarP(&r.Verbose, "verbose", "v", false, "say when a server takes more than a second to answer")
	}
	f.Var(&r.Flags.Connections, "connections", "`NUMBER` of connections to each server")
	f.Var(&r.Flags.Size, "size", "most data in one READ or WRITE")
	f.Var(&r.Flags.Parallel, "parallel", "`NUMBER` of READs or WRITEs under way for one file")
	f.Var(&r.Flags.Credits, "credits", "largest `NUMBER` of calls under way on one connection")
	f.Var(&r.Flags.Inline, "inline", "largest message in one Send over RDMA, in each direction")
	reach.AddCRCFlag(f, r.Flags.CRC)
	reach.AddDialectFlag(f, r.Flags.Dialect)
	r.Flags.TLS.AddFlags(f, "`FILE` with a certificate to show to servers with ?tls in the URL, in PEM",
		"`FILE` with the authorities of servers' certificates, in PEM; default those of this host")
	cli.AddConnectionFlags(cmd, f)
}

// AddFlags adds the flags that say who calls.
func (id *Identity) AddFlags(f *pflag.FlagSet) {
	f.Var(&id.UID, "uid",
		"user to call as, by number or by name on this host, with the user's groups here; the server gets numbers")
	f.Var(&id.gid, "gid", "group to call as, by number or by name on this host")
	f.Var(&id.Gids, "groups", "further groups to call as, separated by commas")
	id.Kerberos.AddFlags(f)
}

// Count is a flag for a number from 1 to Max.
type Count struct{ N, Max int }

// Set takes a number.
func (c *Count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > c.Max {
		return fmt.Errorf("write a number from 1 to %d", c.Max)
	}
	c.N = n
	return nil
}

// String returns the number.
func (c *Count) String() string { return strconv.Itoa(c.N) }

// Type names the value in the usage.
func (c *Count) Type() string { return "NUMBER" }

// TransferFlag is the size of READs and WRITEs, in bytes.
type TransferFlag cli.Size

// Set takes a size.
func (z *TransferFlag) Set(s string) error {
	var n cli.Size
	if err := n.Set(s); err != nil {
		return err
	}
	if n < 1024 || n > maxTransfer {
		return errors.New("write a size from 1KiB to 64MiB")
	}
	*z = TransferFlag(n)
	return nil
}

// String returns the size.
func (z *TransferFlag) String() string { return (*cli.Size)(z).String() }

// Type names the value in the usage.
func (z *TransferFlag) Type() string { return "SIZE" }

// WaitFlag is a flag for a time of 0 or more.
type WaitFlag struct{ time.Duration }

// Set takes a number with a unit, or 0.
func (w *WaitFlag) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return errors.New("write a number and its unit (s, m or h), such as 30s")
	}
	w.Duration = d
	return nil
}

// Type names the value in the usage.
func (w *WaitFlag) Type() string { return "TIME" }
