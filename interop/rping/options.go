package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/rping"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

const usage = `Usage:
  rping -s [-a ADDR] [-V] [-v] [iWARP options]
  rping -c [-a ADDR] [-C COUNT] [-S SIZE] [-V] [-v] [iWARP options]

The server waits for one client and answers its pings: it fetches the data of each by RDMA Read and returns it
by RDMA Write. Peers are this program and the rping of librdmacm, whose options have the same letters.

`

// options is a command line.
type options struct {
	server  bool
	addr    string
	timeout time.Duration
	verbose bool
	ping    rping.Options
	iwarp   iwarp.Config
}

var (
	crcNames      = map[string]iwarp.CRC{"auto": iwarp.CRCAuto, "on": iwarp.CRCOn, "off": iwarp.CRCOff}
	enhancedNames = map[string]mpa.Enhanced{
		"auto": mpa.EnhancedAuto, "required": mpa.EnhancedRequired, "never": mpa.EnhancedNever,
	}
	rtrNames = map[string]mpa.RTR{"any": 0, "send": mpa.RTRSend, "write": mpa.RTRWrite, "read": mpa.RTRRead}
)

// parse reads a command line. What is wrong with it has been printed to stderr when it fails.
func parse(args []string, stderr io.Writer) (*options, error) {
	var (
		o      options
		client bool
	)
	f := flag.NewFlagSet("rping", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, usage)
		f.PrintDefaults()
	}
	f.BoolVar(&o.server, "s", false, "be the server")
	f.BoolVar(&client, "c", false, "be the client")
	f.StringVar(&o.addr, "a", "127.0.0.1:7174", "`host:port` to listen on, or to connect to")
	f.IntVar(&o.ping.Count, "C", 0, "`number` of pings, 0 to go on until interrupted (client)")
	f.IntVar(&o.ping.Size, "S", rping.DefaultSize, "`bytes` of a ping (client)")
	f.BoolVar(&o.ping.Verify, "V", false, "verify the data")
	f.BoolVar(&o.verbose, "v", false, "print what was agreed on, and the data")
	f.DurationVar(&o.timeout, "timeout", 0, "give up after this `time`, 0 to take any")
	f.Func("crc",
		"CRC32C on FPDUs: auto (default: except on loopback addresses), on, off", choice(&o.iwarp.CRC, crcNames))
	f.Func("enhanced", "setup by RFC 6581: auto (default), required, never", choice(&o.iwarp.Enhanced, enhancedNames))
	f.BoolVar(&o.iwarp.PeerToPeer, "peer-to-peer", false, "ask for the peer-to-peer model (client)")
	f.Func("rtr", "ready-to-receive in that model: any (default), send, write, read", choice(&o.iwarp.RTR, rtrNames))
	f.IntVar(&o.iwarp.IRD, "ird", 0, "`number` of RDMA Reads taken at a time, 0 for the default")
	f.IntVar(&o.iwarp.ORD, "ord", 0, "`number` of RDMA Reads made at a time, 0 for the default")
	f.IntVar(&o.iwarp.MaxSegment, "segment", 0, "largest DDP segment in `bytes`, 0 for that of a TCP segment")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	var err error
	switch {
	case f.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	case client == o.server:
		err = errors.New("one of -s and -c is needed")
	}
	if err != nil {
		fmt.Fprintf(stderr, "rping: %v\nRun 'rping -h' for usage.\n", err)
	}
	return &o, err
}

// choice returns a function that sets *to to the value of a name.
func choice[T any](to *T, names map[string]T) func(string) error {
	return func(name string) error {
		v, ok := names[name]
		if !ok {
			return fmt.Errorf("want one of %s", strings.Join(slices.Sorted(maps.Keys(names)), ", "))
		}
		*to = v
		return nil
	}
}
