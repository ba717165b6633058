package slowlinks

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// Transfer is the kind of bulk transfer under way.
type Transfer int

// The bulk is in results (Give) or in arguments (Take).
const (
	Read Transfer = iota
	Write
)

func (t Transfer) String() string { return [...]string{"READ", "WRITE"}[t] }

// way returns the direction in which the bulk travels.
func (t Transfer) way() faultnet.Direction {
	return [...]faultnet.Direction{faultnet.Down, faultnet.Up}[t]
}

// Cell is a link, and the transfer over it.
type Cell struct {
	Mbits     int           // 10^6 bits a second, each way
	RoundTrip time.Duration // of the link, without what its bandwidth takes
	Stall     time.Duration // nothing passes for this long, once
	Draft     bool          // the draft's dialect, where large results come as read chunks
	Transfer  Transfer
}

func (c Cell) String() string {
	return fmt.Sprintf("%v,%dMbit,%v,stall=%v,draft=%v",
		c.Transfer, c.Mbits, c.RoundTrip, c.Stall, c.Draft)
}

// bandwidth returns the bandwidth of the link in bytes a second.
func (c Cell) bandwidth() int { return c.Mbits * 1e6 / 8 }

// way returns one direction of the link.
func (c Cell) way() faultnet.Way {
	return faultnet.Way{Bandwidth: c.bandwidth(), Delay: c.RoundTrip / 2}
}

// config returns the default configuration, in the dialect of the cell.
func (c Cell) config() rpcrdma.Config {
	cfg := rpcrdma.Config{Logger: quiet}
	if c.Draft {
		cfg.Dialect, cfg.NoReplyChunks = rpcrdma.Draft, true
	}
	return cfg
}

var quiet = slog.New(slog.DiscardHandler)

// rig is a client and a server at the two ends of a link.
type rig struct {
	conn   *rpcrdma.Conn
	link   *faultnet.Link
	server *oncrpc.Server
	served chan struct{} // closed when Serve has returned
}

// serve serves package program.
func (r *rig) serve(l transport.Listener, cfg rpcrdma.Config) error {
	r.server = oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	if err := r.server.Handle(program.New()); err != nil {
		return err
	}
	r.served = make(chan struct{})
	go func() {
		defer close(r.served)
		_ = rpcrdma.Serve(context.Background(), l, r.server, cfg) // returns when l is closed
	}()
	return nil
}

// inMemory connects a client and a server over a network in memory.
func inMemory(ctx context.Context, c Cell) (*rig, error) {
	m := faultnet.NewMemory(faultnet.Config{Up: c.way(), Down: c.way()})
	const addr = "10.0.0.1:20049"
	below, err := m.Listen(addr)
	if err != nil {
		return nil, err
	}
	r, cfg := &rig{}, iwarp.Config{Logger: quiet}
	l, err := iwarp.NewListener(below, cfg)
	if err != nil {
		return nil, err
	}
	if err := r.serve(l, c.config()); err != nil {
		return nil, err
	}
	d := &iwarp.Dialer{Config: cfg, DialContext: m.Dialer("10.0.0.2")}
	if r.conn, err = rpcrdma.Dial(ctx, d, addr, c.config()); err != nil {
		return nil, err
	}
	r.link = m.Links()[0]
	return r, nil
}

// overTCP connects a client and a server over sockets, through a relay.
func overTCP(ctx context.Context, c Cell) (*rig, func(), error) {
	r, cfg := &rig{}, iwarp.Config{Logger: quiet}
	l, err := iwarp.Listen(ctx, "127.0.0.1:0", cfg)
	if err != nil {
		return nil, nil, err
	}
	if err := r.serve(l, c.config()); err != nil {
		return nil, nil, err
	}
	relay, err := faultnet.NewRelay(l.Addr().String(), faultnet.Config{Up: c.way(), Down: c.way()})
	if err != nil {
		return nil, nil, err
	}
	r.conn, err = rpcrdma.Dial(ctx, &iwarp.Dialer{Config: cfg}, relay.Addr(), c.config())
	if err != nil {
		return nil, nil, err
	}
	r.link = relay.Links()[0]
	return r, func() { relay.Close() }, nil
}

// close closes the connection and the server, which ends calls under way.
func (r *rig) close() {
	r.conn.Close()
	<-r.conn.Done()
	r.server.Close()
	<-r.served
}
