package bench

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// fleet has the connections of a point.
type fleet struct {
	conns []oncrpc.Transport
	meter *meter // nil over TCP

	// the runner's counter, to which earlier fleets have added; nil except over RoCE
	datagrams *atomic.Int64
}

// dial makes the connections of a point.
func (r *runner) dial(ctx context.Context, p Point) (*fleet, error) {
	f := &fleet{}
	if p.Path == RoCE {
		f.datagrams = &r.datagrams
	}
	if p.Path != TCP {
		f.meter = &meter{point: p}
	}
	for range p.Conns {
		c, err := r.dialOne(ctx, p, f.meter)
		if err != nil {
			f.close()
			return nil, err
		}
		f.conns = append(f.conns, c)
	}
	return f, nil
}

func (r *runner) dialOne(ctx context.Context, p Point, m *meter) (oncrpc.Transport, error) {
	if p.Path == TCP {
		d := net.Dialer{Control: r.o.Sockets.Control}
		conn, err := d.DialContext(ctx, "tcp", r.addr)
		if err != nil {
			return nil, err
		}
		cfg := recordmark.Config{MaxCalls: p.InFlight, MaxRecord: program.MaxMessage, Logger: r.o.Logger}
		c, err := recordmark.NewConn(r.o.Trace.Dialed(conn), cfg)
		if err != nil {
			conn.Close()
			return nil, err
		}
		return c, nil
	}
	d, addr := r.provider(p)
	c, err := rpcrdma.Dial(ctx, d, addr, p.config(r.o, m))
	if err != nil {
		return nil, err
	}
	if p.Way == Padded && c.Settings().PeerAlign != program.Page {
		c.Close()
		<-c.Done()
		return nil, fmt.Errorf("padding to %d bytes, want %d", c.Settings().PeerAlign, program.Page)
	}
	return c, nil
}

// provider returns a dialer for the server over RDMA, and the address to dial.
func (r *runner) provider(p Point) (transport.Dialer, string) {
	if p.Path == Loopback {
		return r.loopback.dialer(), listenerOf(p.Way)
	}
	port := r.info.ChunkedPort
	switch listenerOf(p.Way) {
	case inlineListener:
		port = r.info.InlinePort
	case draftListener:
		port = r.info.DraftPort
	}
	at := net.JoinHostPort(r.host, strconv.Itoa(int(port)))
	if p.Path == RoCE {
		return roce.Dialer{Config: roce.Config{Logger: r.o.Logger, Trace: r.datagram}}, at
	}
	cfg := iwarp.Config{CRC: iwarp.CRCOff, Logger: r.o.Logger}
	switch p.Path {
	case IWARPCRC:
		cfg.CRC = iwarp.CRCOn
	case IWARPMarkers:
		cfg.Markers = mpa.MarkersOn
	}
	d := net.Dialer{Control: r.o.Sockets.Control}
	return iwarp.Dialer{Config: cfg, DialContext: r.o.Trace.DialContext(d.DialContext)}, at
}

// datagram counts the bytes of a RoCE packet, and traces it if there is a trace.
func (r *runner) datagram(local, remote netip.AddrPort, sent bool, packet []byte) {
	r.datagrams.Add(int64(len(packet)))
	if r.o.Trace != nil {
		r.o.Trace.Datagram(local, remote, sent, packet)
	}
}

// wire returns the bytes sent in both directions, as TCP or UDP payload.
func (f *fleet) wire() (n int64) {
	if f.datagrams != nil {
		n = f.datagrams.Load()
	}
	for _, c := range f.conns {
		switch c := c.(type) {
		case *rpcrdma.Conn:
			sent, received, _ := iwarp.TrafficOf(c.Endpoint())
			n += int64(sent + received)
		case *recordmark.Conn:
			const mark = 4 // bytes, of each record
			s := c.Stats()
			n += int64(s.BytesIn + s.BytesOut + mark*(s.RecordsIn+s.RecordsOut))
		}
	}
	return n
}

// check fails if a connection has ended, or a call did not travel in the point's way.
func (f *fleet) check() error {
	for _, c := range f.conns {
		if err := c.Err(); err != nil {
			return err
		}
	}
	if f.meter == nil {
		return nil
	}
	return f.meter.check()
}

// close closes the connections and waits for their end.
func (f *fleet) close() {
	for _, c := range f.conns {
		c.Close()
	}
	for _, c := range f.conns {
		<-c.Done()
	}
}
