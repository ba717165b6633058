package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"math/bits"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/confproto"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// confPolicy says which callers may use CONF_RDMA.
type confPolicy uint8

const (
	confOff confPolicy = iota
	confAny
	confSys // callers that name a user, by AUTH_SYS or RPCSEC_GSS
	confGSS // callers that prove who they are, by RPCSEC_GSS
)

func newConfPolicy() *cli.Choice[confPolicy] {
	return cli.NewChoice("any", cli.Named("off", confOff), cli.Named("any", confAny), cli.Named("sys", confSys),
		cli.Named("gss", confGSS))
}

// confPrograms returns CONF_RDMA under both of its program numbers, or nothing. Only clients of the
// exports may use it.
func (c *Config) confPrograms(log *slog.Logger) []oncrpc.Program {
	cfg := confproto.Config{MaxCall: int(c.inline), Clients: c.allow, Logger: log}
	switch c.conf.Value {
	case confOff:
		return nil
	case confSys:
		cfg.Flavors = []oncrpc.AuthFlavor{oncrpc.FlavorSys, oncrpc.FlavorGSS}
	case confGSS:
		cfg.Service = gss.Integrity // protects the requested sizes, too
	}
	draft := confproto.New(cfg)
	cfg.Program = confproto.ProgramRFC5666
	return []oncrpc.Program{draft, confproto.New(cfg)}
}

// alignFlag is an alignment in bytes; 0: none.
type alignFlag cli.Size

// minAlign is the smallest alignment above 0.
const minAlign = 64

// Set takes a size, or 0.
func (z *alignFlag) Set(s string) error {
	if s == "0" {
		*z = 0
		return nil
	}
	var n cli.Size
	if err := n.Set(s); err != nil {
		return err
	}
	if n < minAlign || n > rpcrdma.MaxInline/2 || n&(n-1) != 0 {
		return errors.New("write a power of two, from 64 to 32KiB, or 0")
	}
	*z = alignFlag(n)
	return nil
}

// String returns the alignment.
func (z *alignFlag) String() string { return (*cli.Size)(z).String() }

// Type names the value in the usage.
func (z *alignFlag) Type() string { return "SIZE" }

// checkAlign finds what is wrong with --align.
func (c *Config) checkAlign() error {
	most := alignFlag(1 << (bits.Len(uint(c.inline/2)) - 1))
	switch {
	case c.align == 0:
	case c.dialect.Value != rpcrdma.Draft:
		return fmt.Errorf("--align is for clients that pad data, as in --dialect %v: write that, or leave out --align",
			rpcrdma.Draft)
	case c.conf.Value == confOff:
		return errors.New("clients learn --align by CONF_RDMA, which --conf off refuses: leave out one of them")
	case c.align > most:
		enough := reach.InlineFlag(2 * c.align)
		return fmt.Errorf("--align %v is more than half of --inline: write --align %v or less, or --inline %v",
			&c.align, &most, &enough)
	}
	return nil
}
