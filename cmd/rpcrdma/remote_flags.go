package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// maxTransfer is the largest --size: the largest that servers here have.
const maxTransfer = 64 << 20

// maxConnections bounds --connections.
const maxConnections = 64

// remoteFlags are the flags of all commands that reach a server.
type remoteFlags struct {
	connections count
	size        transferFlag
	parallel    count
	wait        waitFlag
	inline      inlineFlag
	crc         *choice[iwarp.CRC]
	credits     count
	dialect     *choice[rpcrdma.Dialect]
	tls         tlsFiles
	identity
	named func(flag string) bool // on the command line
}

func newRemoteFlags() *remoteFlags {
	return &remoteFlags{
		connections: count{1, maxConnections},
		size:        1 << 20,
		parallel:    count{8, nfsfs.MaxParallel},
		wait:        waitFlag{time.Minute},
		inline:      4096,
		crc:         newCRC(),
		credits:     count{64, maxCredits},
		dialect:     newDialect(),
		identity:    ownIdentity(),
		named:       func(string) bool { return false },
	}
}

// rdma is how to connect over RDMA.
func (f *remoteFlags) rdma() rdmaConfig { return rdmaConfig{log: quiet, crc: f.crc.value} }

// newCRC returns the choice of CRC32C.
func newCRC() *choice[iwarp.CRC] {
	return newChoice("auto", named("auto", iwarp.CRCAuto), named("on", iwarp.CRCOn), named("off", iwarp.CRCOff))
}

// addFlags gives a command the flags of all commands that reach a server.
func (r *remotes) addFlags(cmd *cobra.Command) {
	r.flags = newRemoteFlags()
	r.stderr = func() io.Writer { return cmd.ErrOrStderr() }
	r.flags.named = cmd.Flags().Changed
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SortFlags = false
	r.flags.identity.addFlags(f)
	f.Var(&r.flags.wait, "wait", "how long to wait for a server that goes away in the middle, such as 30s or 1h; 0: not at all. "+
		"The first connection is tried once, for up to 10 s; a server that is there but does not answer is given up after a minute")
	f.Var(&r.flags.connections, "connections", "`NUMBER` of connections to each server")
	f.Var(&r.flags.size, "size", "most data in one READ or WRITE")
	f.Var(&r.flags.parallel, "parallel", "`NUMBER` of READs or WRITEs of a file under way")
	f.Var(&r.flags.credits, "credits", "`NUMBER` of calls under way on a connection, at most")
	f.Var(&r.flags.inline, "inline", "largest message in one Send, each way, over RDMA")
	addCRCFlag(f, r.flags.crc)
	addDialectFlag(f, r.flags.dialect)
	r.flags.tls.addFlags(f, "`FILE` with a certificate to show to servers that are reached with ?tls",
		"`FILE` with the authorities of servers' certificates; without it those of this host")
	addConnectionFlags(cmd, f)
}

// addFlags defines the flags that say who calls.
func (id *identity) addFlags(f *pflag.FlagSet) {
	f.Var(&id.uid, "uid", "user to call as, with the groups that he has on this host")
	f.Var(&id.gid, "gid", "group to call as")
	f.Var(&id.gids, "groups", "further groups to call as, with commas between them")
}

// addCRCFlag defines the flag of a client that chooses CRC32C.
func addCRCFlag(f *pflag.FlagSet, crc *choice[iwarp.CRC]) {
	f.Var(crc, "crc", "CRC32C in iWARP: "+crc.names()+"; auto is on except to loopback addresses; what a server wants on is on")
}

// count is a number from 1 on.
type count struct{ n, max int }

// Set takes a number.
func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > c.max {
		return fmt.Errorf("write a number from 1 to %d", c.max)
	}
	c.n = n
	return nil
}

// String returns the number.
func (c *count) String() string { return strconv.Itoa(c.n) }

// Type names the value in the usage.
func (c *count) Type() string { return "NUMBER" }

// transferFlag is the size of READs and WRITEs.
type transferFlag size

// Set takes a size.
func (z *transferFlag) Set(s string) error {
	var n size
	if err := n.Set(s); err != nil {
		return err
	}
	if n < 1024 || n > maxTransfer {
		return errors.New("write a size from 1KiB to 64MiB")
	}
	*z = transferFlag(n)
	return nil
}

// String returns the size.
func (z *transferFlag) String() string { return (*size)(z).String() }

// Type names the value in the usage.
func (z *transferFlag) Type() string { return "SIZE" }

// inlineFlag is the size of messages in a Send.
type inlineFlag size

// Set takes a size.
func (z *inlineFlag) Set(s string) error {
	var n size
	if err := n.Set(s); err != nil {
		return err
	}
	if n < rpcrdma.DefaultInline || n > rpcrdma.MaxInline || n%1024 != 0 {
		return errors.New("write a multiple of 1KiB up to 64KiB")
	}
	*z = inlineFlag(n)
	return nil
}

// String returns the size.
func (z *inlineFlag) String() string { return (*size)(z).String() }

// Type names the value in the usage.
func (z *inlineFlag) Type() string { return "SIZE" }

// waitFlag is a time.
type waitFlag struct{ time.Duration }

// Set takes a number with a unit, or 0.
func (w *waitFlag) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return errors.New("write a number with s, m or h behind it, such as 30s")
	}
	w.Duration = d
	return nil
}

// Type names the value in the usage.
func (w *waitFlag) Type() string { return "TIME" }
