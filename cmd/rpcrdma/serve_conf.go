package main

import (
	"fmt"
	"math/bits"

	"github.com/rpcrdma/go-rpcrdma/confproto"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// confPolicy says whose CONF_RDMA is answered.
type confPolicy uint8

const (
	confOff confPolicy = iota
	confAny
	confSys // who presents AUTH_SYS
)

func newConfPolicy() *choice[confPolicy] {
	return newChoice("any", named("off", confOff), named("any", confAny), named("sys", confSys))
}

// confPrograms is CONF_RDMA, under both numbers that it has, or nothing. Only who may use the exports may use it.
func (c *serveConfig) confPrograms() []oncrpc.Program {
	cfg := confproto.Config{MaxCall: c.inline, Clients: c.allow}
	switch c.conf.value {
	case confOff:
		return nil
	case confSys:
		cfg.Flavors = []oncrpc.Flavor{oncrpc.FlavorSys}
	}
	draft := confproto.New(cfg)
	cfg.Program = confproto.ProgramRFC5666
	return []oncrpc.Program{draft, confproto.New(cfg)}
}

// minAlign is the least --align.
const minAlign = 64

// checkAlign finds what is wrong with --align.
func (c *serveConfig) checkAlign() error {
	switch {
	case c.align == 0:
	case c.dialect.value != rpcrdma.Draft:
		return fmt.Errorf("--align is for clients that pad data, which they do in --dialect %v alone", rpcrdma.Draft)
	case c.align < minAlign || c.align > c.inline/2 || bits.OnesCount(uint(c.align)) != 1:
		return fmt.Errorf("--align %d: it must be a power of two, from %d to half of --inline, which is %d", c.align, minAlign, c.inline/2)
	}
	return nil
}
