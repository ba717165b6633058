package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/rping"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// run executes a command line and returns the exit code: 0, 1 if something did not work, 2 if the
// command line makes no sense.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	end, connect := rping.Client, o.dial
	if o.server {
		end, connect = rping.Serve, o.accept
	}
	ep, err := connect(ctx, stdout)
	n := 0
	if err == nil {
		if o.verbose {
			o.ping.Print = stdout
			if s, ok := iwarp.SetupOf(ep); ok {
				fmt.Fprintln(stdout, describe(&s))
			}
		}
		n, err = end(ctx, ep, o.ping)
	}
	if err != nil {
		fmt.Fprintf(stderr, "rping: after %d pings: %v\n", n, err)
		return 1
	}
	fmt.Fprintf(stdout, "%d pings\n", n)
	return 0
}

// dial connects to a server.
func (o *options) dial(ctx context.Context, _ io.Writer) (transport.Endpoint, error) {
	return iwarp.Dialer{Config: o.iwarp}.Dial(ctx, o.addr, nil)
}

// accept waits for a client, and says where.
func (o *options) accept(ctx context.Context, stdout io.Writer) (transport.Endpoint, error) {
	l, err := iwarp.Listen(ctx, o.addr, o.iwarp)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	fmt.Fprintln(stdout, "listening on", l.Addr())
	req, err := l.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return req.Accept(ctx, nil)
}

// describe says what was agreed on.
func describe(s *mpa.Setup) string {
	d := fmt.Sprintf("MPA revision %d", s.Revision)
	if s.Enhanced {
		d += fmt.Sprintf(", enhanced, IRD %d, ORD %d (peer: %d, %d)", s.IRD, s.ORD, s.PeerIRD, s.PeerORD)
	}
	if s.CRC {
		d += ", CRC"
	}
	if s.PeerToPeer {
		d += ", peer-to-peer by " + s.RTR.String()
	}
	return d
}
