package bench

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/bench"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
)

// benchPort is the first of the five ports of a bench server.
const benchPort = 20051

// Config is the flags of bench.
type Config struct {
	quick, full bool
	paths       *list[bench.Path]
	ways        *list[bench.Way]
	sizes       *list[int]
	inFlight    *list[int]
	conns       *list[int]
	time        remote.WaitFlag
	out         string
	server      string
	cpus        cpusFlag
	congestion  string
	memory      cli.Size
}

// NewConfig returns what bench does by default.
func NewConfig() *Config {
	return &Config{
		paths:      newList(parsePath, bench.IWARP),
		ways:       newList(parseWay, bench.Ways()...),
		sizes:      newList(parsePayload, bench.FullAxes().Sizes...),
		inFlight:   newList(upTo(bench.MaxInFlight), 8),
		conns:      newList(upTo(bench.MaxConns), 1),
		congestion: cmp.Or(host.DefaultCongestion, systemCongestion),
		memory:     1 << 30,
	}
}

// systemCongestion leaves the choice of congestion control to the system.
const systemCongestion = "system"

// AddFlags gives a command the flags of bench.
func (c *Config) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&c.quick, "quick", false, "measure the quick grid, as by default")
	f.BoolVar(&c.full, "full", false, "measure the full grid")
	f.Var(c.paths, "paths",
		"comma-separated `LIST` of loopback, iwarp, iwarp+crc, iwarp+markers, tcp, roce; all is all but roce")
	f.Var(c.ways, "ways", "comma-separated `LIST` of ways, see above, or all")
	f.Var(c.sizes, "sizes", "comma-separated `LIST` of payload sizes up to 4MiB, such as 1KiB,64KiB, or all")
	f.Var(c.inFlight, "in-flight",
		"comma-separated `LIST` of numbers of calls in flight on each connection; all is 1,8,64")
	f.Var(c.conns, "conns", "comma-separated `LIST` of numbers of connections; all is 1,4,64")
	f.Var(&c.time, "time", "how long to measure, such as 30s or 5m; default 36s with --quick, 10m with --full, and "+
		"else one second per point, but at most 10m")
	f.Lookup("time").DefValue = ""
	f.StringVar(&c.out, "out", "", "`DIR` to write CSV, JSON, HTML and PNG to; created if missing")
	f.StringVar(&c.server, "server", "", "`HOST[:PORT]` of a rpcrdma bench serve that runs already; default port 20051")
	f.Var(&c.cpus, "cpus", "CPUs of the server and of the client, such as 0:1 or 0,1:2,3, or none to leave both "+
		"unpinned; default half of the CPUs each; with --server, :CPUS of the client alone")
	f.StringVar(&c.congestion, "congestion", c.congestion,
		"`NAME` of the TCP congestion control, at both ends if bench starts the server; system leaves it as it is")
	f.Var(&c.memory, "memory", "most memory for the payloads of all calls in flight, at both ends together")
	c.paths.all, c.ways.all = bench.FullAxes().Paths, bench.Ways()
	c.sizes.all, c.inFlight.all, c.conns.all = bench.FullAxes().Sizes, bench.FullAxes().InFlight, bench.FullAxes().Conns
}

// Options returns the options of the benchmark. An error is one of usage.
func (c *Config) Options(named func(flag string) bool) (bench.Options, error) {
	o := bench.Options{Memory: int64(c.memory), Sockets: sockets(c.congestion)}
	custom := false
	for _, flag := range []string{"paths", "ways", "sizes", "in-flight", "conns"} {
		custom = custom || named(flag)
	}
	switch {
	case c.quick && c.full, custom && (c.quick || c.full):
		return o, errors.New("use only one of --quick, --full, and a choice by --paths, --ways and the like")
	case custom:
		axes := bench.Axes{Paths: c.paths.of, Ways: c.ways.of, Sizes: c.sizes.of, InFlight: c.inFlight.of,
			Conns: c.conns.of}
		o.Grid = axes.Grid("custom")
		o.Time = min(time.Duration(len(o.Grid.Points))*time.Second, FullTime)
		if len(o.Grid.Points) == 0 {
			return o, nothingToMeasure(o.Grid)
		}
	case c.full:
		o.Grid, o.Time = bench.FullGrid(), FullTime
	default:
		o.Grid, o.Time = bench.QuickGrid(), QuickTime
	}
	if named("time") {
		if o.Time = c.time.Duration; o.Time == 0 {
			return o, errors.New("--time 0: write a time above 0, such as 30s")
		}
	}
	if named("server") {
		return o, c.there(&o, named)
	}
	return o, c.here(&o, named)
}

// nothingToMeasure says why a grid is empty.
func nothingToMeasure(g bench.Grid) error {
	why := "TCP has neither chunks nor padding"
	if len(g.LeftOut) > 0 {
		why = g.LeftOut[0].Why
	}
	return fmt.Errorf("nothing to measure: %s", why)
}

// there sets up a benchmark against a server that runs already.
func (c *Config) there(o *bench.Options, named func(flag string) bool) error {
	name, port, err := benchAddress("--server", c.server)
	if err != nil {
		return err
	}
	if _, err := reach.ParsePort(port); err != nil || name == "" {
		return addressError("--server", c.server)
	}
	if !slices.ContainsFunc(o.Grid.Points, func(p bench.Point) bool { return p.Path != bench.Loopback }) {
		return errors.New("--server: the path loopback has both ends in this process: leave out --server")
	}
	o.Server = net.JoinHostPort(name, port)
	if !named("congestion") {
		o.Sockets.Congestion = "" // a network has its own
	}
	o.ClientCPUs = c.cpus.client
	if len(c.cpus.server) > 0 {
		return errors.New("--cpus with --server pins only the client: write :CPUS")
	}
	return nil
}

// here sets up a benchmark against a server process that it starts on this host.
func (c *Config) here(o *bench.Options, named func(flag string) bool) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the program that is running: %w; use --server", err)
	}
	at, overRoCE := netip.AddrFrom4([4]byte{127, 0, 0, 1}), o.Grid.Over(bench.RoCE)
	if overRoCE {
		at = reach.FreeInside()
	}
	o.Command = []string{
		self, "bench", "serve", "--child", "--listen", netip.AddrPortFrom(at, 0).String(), "--congestion", c.congestion,
		"--memory", strconv.FormatInt(int64(c.memory), 10), fmt.Sprintf("--roce=%t", overRoCE),
		"--trace=", // the environment names the file of this process
	}
	o.ServerCPUs, o.ClientCPUs = c.cpus.server, c.cpus.client
	if !named("cpus") {
		o.ServerCPUs, o.ClientCPUs = halves()
	}
	return nil
}

// halves splits the CPUs that this process may use. It returns none if there is only one, or if the
// system cannot pin processes.
func halves() (server, client []int) {
	cpus, err := host.AllowedCPUs()
	if err != nil || len(cpus) < 2 {
		return nil, nil
	}
	return cpus[:len(cpus)/2], cpus[len(cpus)/2:]
}

// sockets are set up with a congestion control.
func sockets(congestion string) host.Sockets {
	if congestion == systemCongestion {
		congestion = ""
	}
	return host.Sockets{Congestion: congestion}
}

// parsePath parses the name of a path.
func parsePath(s string) (bench.Path, error) { return oneOf(bench.Paths(), s) }

// parseWay parses the name of a way, in which there are hyphens for spaces.
func parseWay(s string) (bench.Way, error) {
	return oneOf(bench.Ways(), strings.ReplaceAll(s, "-", " "))
}

// oneOf returns the value that has a name.
func oneOf[T ~string](all []T, name string) (T, error) {
	var names []string
	for _, v := range all {
		if string(v) == name {
			return v, nil
		}
		names = append(names, strings.ReplaceAll(string(v), " ", "-"))
	}
	return "", errors.New("write one of " + strings.Join(names, ", ") + ", or all")
}

// parsePayload parses the size of a payload.
func parsePayload(s string) (int, error) {
	var n cli.Size
	if err := n.Set(s); err != nil {
		return 0, err
	}
	if n > program.MaxPayload {
		return 0, errors.New("write a size up to 4MiB")
	}
	return int(n), nil
}

// upTo returns what parses numbers from 1 to n.
func upTo(n int) func(string) (int, error) {
	return func(s string) (int, error) {
		c := remote.Count{Max: n}
		err := c.Set(s)
		return c.N, err
	}
}
