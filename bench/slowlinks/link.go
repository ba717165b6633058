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

// Transfer is what is under way in bulk.
type Transfer int

// The transfers: of results, and of arguments.
const (
	Read Transfer = iota
	Write
)

func (t Transfer) String() string { return [...]string{"READ", "WRITE"}[t] }

// way is the direction in which the bulk travels.
func (t Transfer) way() faultnet.Direction {
	return [...]faultnet.Direction{faultnet.Down, faultnet.Up}[t]
}

// Cell is a link, and what is done over it.
type Cell struct {
	Mbits     int           // of the link, in 10^6 bits a second, each way
	RoundTrip time.Duration // that it takes besides
	Stall     time.Duration // for which nothing passes, in the midst of it
	Draft     bool          // the dialect; large results come as read chunks then
	Transfer  Transfer
}

func (c Cell) String() string {
	return fmt.Sprintf("%v,%dMbit,%v,stall=%v,draft=%v",
		c.Transfer, c.Mbits, c.RoundTrip, c.Stall, c.Draft)
}

// bandwidth of the link in bytes a second.
func (c Cell) bandwidth() int { return c.Mbits * 1e6 / 8 }

// way is one direction of the link.
func (c Cell) way() faultnet.Way {
	return faultnet.Way{Bandwidth: c.bandwidth(), Delay: c.RoundTrip / 2}
}

// config is the default configuration, in the dialect of the cell.
func (c Cell) config() rpcrdma.Config {
	cfg := rpcrdma.Config{Logger: quiet}
	if c.Draft {
		cfg.Dialect, cfg.NoReplyChunks = rpcrdma.Draft, true
	}
	return cfg
}

var quiet = slog.New(slog.DiscardHandler)

// rig is a client and a server at the ends of a link.
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
		_ = rpcrdma.Serve(context.Background(), l, r.server, cfg) // until it is closed
	}()
	return nil
}

// inMemory connects over a network in memory.
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

// overTCP connects over sockets, with a relay between them.
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

// close ends the connection and the server. Calls under way end with it.
func (r *rig) close() {
	r.conn.Close()
	<-r.conn.Done()
	r.server.Close()
	<-r.served
}
