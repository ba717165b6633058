package gateway

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/serve"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// Bounds of --max-reply. A header could hold the segments of larger replies, but nobody sends them.
const (
	minReply = 64 << 10
	maxReply = 64 << 20
)

// Config is the command line of gateway.
type Config struct {
	listen  string
	to      string
	mountTo string

	server reach.Target
	mount  *reach.Target // nil: to be found

	allow    []netip.Prefix
	rpcbind  bool
	maxReply cli.Size
	inline   reach.InlineFlag
	crc      *cli.Choice[iwarp.CRC]
	credits  remote.Count
	dialect  *cli.Choice[rpcrdma.Dialect]
	logging  *daemon.Logging
	debug    string // "": no HTTP
	metrics  string // likewise

	registering serve.RPCBindConfig
	// how long calls under way may take after the signal that ends the gateway
	drainTime time.Duration
}

// NewConfig returns the defaults of gateway. dial connects to rpcbind.
func NewConfig(dial serve.RPCBindDialer) *Config {
	return &Config{
		maxReply:    1 << 20,
		inline:      4096,
		crc:         reach.NewCRC(),
		credits:     remote.Count{N: 64, Max: reach.MaxCredits},
		dialect:     reach.NewDialect(),
		logging:     daemon.NewLogging(),
		registering: serve.NewRPCBindConfig(dial),
		drainTime:   10 * time.Second,
	}
}

// addFlags defines the flags.
func (c *Config) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.to, "to", "",
		"`URL` of the server, which is required: rdma://HOST[:PORT], or rdma://HOST?rpcbind[=PORT]")
	f.StringVar(&c.listen, "listen", "127.0.0.1:2049", "`ADDRESS` for RPC over TCP; port 0 picks a free one")
	f.StringVar(&c.mountTo, "mount-to", "",
		"`URL` of MOUNT, if the gateway does not find it by itself: tcp://HOST:PORT, or rdma://")
	f.Var((*daemon.AllowFlag)(&c.allow), "allow",
		"take connections only from the network CIDR, or from one address; may be repeated")
	f.BoolVar(&c.rpcbind, "rpcbind", false,
		"register with this host's rpcbind while gateway runs, so that clients find the port")
	f.Var(&c.maxReply, "max-reply",
		"largest reply of programs other than NFS, and largest READ; each call has memory for it")
	f.Var(&c.credits, "credits",
		"`NUMBER` of calls that a client may have under way on one connection, if the server allows so many")
	f.Var(&c.inline, "inline", "largest message in one Send over RDMA, in each direction")
	reach.AddCRCFlag(f, c.crc)
	reach.AddDialectFlag(f, c.dialect)
	c.logging.AddFlags(f)
	daemon.AddMetricsFlag(f, &c.metrics)
	daemon.AddDebugFlag(f, &c.debug)
}

// check checks the flags against one another.
func (c *Config) check() error {
	if c.to == "" {
		return errors.New("no server: name it with --to rdma://HOST")
	}
	if err := c.checkServers(); err != nil {
		return err
	}
	if c.maxReply < minReply || c.maxReply > maxReply {
		return fmt.Errorf("--max-reply %v: write a size from 64KiB to 64MiB", &c.maxReply)
	}
	return errors.Join(
		daemon.CheckAddress("--listen", c.listen, ""), daemon.CheckMetrics(c.metrics), daemon.CheckDebug(c.debug))
}

func (c *Config) checkServers() (err error) {
	if c.server, err = parseServer("--to", c.to, "rdma"); err != nil {
		return err
	}
	if !c.server.OverRDMA() {
		return fmt.Errorf("--to %s: clients reach a server over TCP without a gateway; write rdma://HOST", c.server)
	}
	if port := c.server.MountPort; port != 0 {
		c.mount = &reach.Target{Scheme: "tcp", Host: c.server.Host, Port: port, Path: "/"}
	}
	if c.mountTo == "" {
		return nil
	}
	if c.mount != nil {
		return errors.New("--mount-to and mountport both name MOUNT: use only one of them")
	}
	m, err := parseServer("--mount-to", c.mountTo, "tcp")
	if err == nil && (m.MountPort != 0 || m.Rpcbind != 0) {
		err = errors.New("--mount-to: write the port after the host: tcp://HOST:PORT")
	}
	c.mount = &m
	return err
}

// parseServer parses the URL of a server, without a path. scheme is for the error message.
func parseServer(flag, url, scheme string) (reach.Target, error) {
	if !reach.IsURL(url) {
		return reach.Target{}, fmt.Errorf("%s %s: not a URL: write %s://HOST[:PORT]", flag, cli.Printable(url), scheme)
	}
	t, err := reach.ParseTarget(url)
	if err != nil {
		return t, fmt.Errorf("%s %w", flag, err)
	}
	if t.Path != "/" {
		return t, fmt.Errorf("%s %s: a gateway leads to a server, not to a path: write %s", flag, t, t.Server())
	}
	if t.Sec != 0 {
		return t, fmt.Errorf("%s %s: clients prove who calls, not the gateway: leave out sec", flag, t)
	}
	return t, nil
}
