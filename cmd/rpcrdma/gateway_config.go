package main

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// Bounds of --max-reply: a header holds the segments of larger replies, but nobody sends such.
const (
	minReply = 64 << 10
	maxReply = 64 << 20
)

// gatewayConfig is the command line of gateway.
type gatewayConfig struct {
	listen  string
	to      string
	mountTo string

	server target
	mount  *target // nil: to be found

	allow    []netip.Prefix
	rpcbind  bool
	maxReply size
	inline   inlineFlag
	crc      *choice[iwarp.CRC]
	credits  count
	dialect  *choice[rpcrdma.Dialect]
	logging  *logging
	debug    string // "": no HTTP
	metrics  string // likewise

	registering rpcbindConfig
	drainTime   time.Duration // how long calls under way may take after the signal that ends the gateway
}

func newGatewayConfig(dial rpcbindDialer) *gatewayConfig {
	return &gatewayConfig{
		maxReply:    1 << 20,
		inline:      4096,
		crc:         newCRC(),
		credits:     count{64, maxCredits},
		dialect:     newDialect(),
		logging:     newLogging(),
		registering: newRPCBindConfig(dial),
		drainTime:   10 * time.Second,
	}
}

// addFlags defines the flags.
func (c *gatewayConfig) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.to, "to", "", "`URL` of the server: rdma://HOST[:PORT], or rdma://HOST?rpcbind[=PORT]")
	f.StringVar(&c.listen, "listen", "127.0.0.1:2049", "`ADDRESS` for RPC over TCP; port 0 picks one")
	f.StringVar(&c.mountTo, "mount-to", "", "`URL` of MOUNT, if that is not found by itself: tcp://HOST:PORT, or rdma://")
	f.Var((*allowFlag)(&c.allow), "allow", "only take connections of clients of the network CIDR, or of one address; may be repeated")
	f.BoolVar(&c.rpcbind, "rpcbind", false, "tell clients the port by the rpcbind of this host, until the end")
	f.Var(&c.maxReply, "max-reply", "most data in a reply, for which there is memory with each call")
	f.Var(&c.credits, "credits", "`NUMBER` of calls that a client may have under way on a connection, as far as the server allows")
	f.Var(&c.inline, "inline", "largest message in one Send, each way, over RDMA")
	addCRCFlag(f, c.crc)
	addDialectFlag(f, c.dialect)
	c.logging.addFlags(f)
	addMetricsFlag(f, &c.metrics)
	addDebugFlag(f, &c.debug)
}

// check finds what flags say wrong together, or that is more than their form.
func (c *gatewayConfig) check() error {
	if c.to == "" {
		return errors.New("where to? Name the server with --to rdma://HOST")
	}
	if err := c.checkServers(); err != nil {
		return err
	}
	if c.maxReply < minReply || c.maxReply > maxReply {
		return fmt.Errorf("--max-reply %v: write a size from 64KiB to 64MiB", &c.maxReply)
	}
	return errors.Join(
		checkAddress("--listen", c.listen, ""), checkMetrics(c.metrics), checkDebug(c.debug))
}

func (c *gatewayConfig) checkServers() (err error) {
	if c.server, err = parseServer("--to", c.to, "rdma"); err != nil {
		return err
	}
	if !c.server.overRDMA() {
		return fmt.Errorf("--to %s: clients reach it without a gateway; write rdma://HOST", c.server)
	}
	if port := c.server.mountPort; port != 0 {
		c.mount = &target{scheme: "tcp", host: c.server.host, port: port, path: "/"}
	}
	if c.mountTo == "" {
		return nil
	}
	if c.mount != nil {
		return errors.New("--mount-to and mountport say the same: write one of them")
	}
	m, err := parseServer("--mount-to", c.mountTo, "tcp")
	if err == nil && (m.mountPort != 0 || m.rpcbind != 0) {
		err = errors.New("--mount-to: the port is behind the host: tcp://HOST:PORT")
	}
	c.mount = &m
	return err
}

// parseServer parses a URL that names a server, and nothing there; most have that scheme.
func parseServer(flag, url, scheme string) (target, error) {
	if !isURL(url) {
		return target{}, fmt.Errorf("%s %s: not a URL: write %s://HOST[:PORT]", flag, printable(url), scheme)
	}
	t, err := parseTarget(url)
	if err != nil {
		return t, fmt.Errorf("%s %w", flag, err)
	}
	if t.path != "/" {
		return t, fmt.Errorf("%s %s: a gateway is to a server, not to a path: write %s", flag, t, t.server())
	}
	return t, nil
}
