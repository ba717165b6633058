package oncrpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/rocerig"
	"github.com/rpcrdma/go-rpcrdma/internal/sctprig"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// caller is a connection on which the test chooses transaction ids.
type caller interface {
	call(message []byte)
	reply() []byte
	cut()
	addr() net.Addr // of this end
}

// dialer connects to a server. Over TCP it does so from an address, unless that is nil.
type dialer func(from net.Addr) caller

// tcpCaller sends calls as records with one fragment (RFC 5531 section 11).
type tcpCaller struct {
	t    *testing.T
	conn net.Conn
}

func (c *tcpCaller) call(m []byte) {
	if _, err := c.conn.Write(append(binary.BigEndian.AppendUint32(nil, 1<<31|uint32(len(m))), m...)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *tcpCaller) reply() []byte {
	var mark [4]byte
	if _, err := io.ReadFull(c.conn, mark[:]); err != nil {
		c.t.Fatal(err)
	}
	m := make([]byte, binary.BigEndian.Uint32(mark[:])&^(1<<31))
	if _, err := io.ReadFull(c.conn, m); err != nil {
		c.t.Fatal(err)
	}
	return m
}

// cut resets the connection, so that its port is free at once.
func (c *tcpCaller) cut() {
	c.conn.(*net.TCPConn).SetLinger(0)
	c.conn.Close()
}

func (c *tcpCaller) addr() net.Addr { return c.conn.LocalAddr() }

// grant is how many calls each client may have under way over RDMA.
const grant = 2

// rdmaCaller sends calls inline over RDMA.
type rdmaCaller struct {
	t       *testing.T
	ep      transport.Endpoint
	replies chan []byte
}

func dialRDMA(t *testing.T, d transport.Dialer, to net.Addr) caller {
	ep, err := d.Dial(t.Context(), to.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &rdmaCaller{t, ep, make(chan []byte, 1)}
	ep.Start(c)
	return c
}

func (c *rdmaCaller) Received(batch []transport.Message) {
	for _, m := range batch {
		c.replies <- m.Receive.Local[0].Bytes[:m.Len]
	}
}

func (c *rdmaCaller) Complete(*transport.WorkRequest, error) {}

func (c *rdmaCaller) call(m []byte) {
	room := []transport.Slice{{Bytes: make([]byte, rpcrdma.DefaultInline)}}
	if err := c.ep.PostRecv(&transport.RecvRequest{Local: room}); err != nil {
		c.t.Fatal(err)
	}
	h := rpcrdma.Header{XID: binary.BigEndian.Uint32(m), Version: rpcrdma.ProtocolVersion, Credits: grant, Type: rpcrdma.TypeMsg}
	wr := transport.WorkRequest{Op: transport.OpSend, Local: []transport.Slice{{Bytes: append(h.Append(nil), m...)}}, Done: c}
	if err := c.ep.Post(&wr); err != nil {
		c.t.Fatal(err)
	}
}

func (c *rdmaCaller) reply() []byte {
	select {
	case b := <-c.replies:
		var h rpcrdma.Header
		n, err := h.Parse(b)
		if err != nil {
			c.t.Fatal(err)
		}
		return b[n:]
	case <-c.ep.Done():
		c.t.Fatal(c.ep.Err())
		return nil
	}
}

func (c *rdmaCaller) cut() {
	c.ep.Close()
	<-c.ep.Done()
}

func (c *rdmaCaller) addr() net.Addr { return c.ep.Info().LocalAddr }

// reachTCP serves s over TCP until the test ends.
func reachTCP(t *testing.T, s *oncrpc.Server) dialer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving(t, s, func() error {
		return recordmark.Serve(context.Background(), l, s, recordmark.Config{Logger: quiet})
	})
	return func(from net.Addr) caller {
		if from == nil {
			from = new(net.TCPAddr) // any port, which no other socket shares
		}
		d := net.Dialer{LocalAddr: from}
		conn, err := d.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return &tcpCaller{t, conn}
	}
}

// reach serves s over a provider until the test ends.
func reach(provider func(t *testing.T) (transport.Listener, transport.Dialer)) func(*testing.T, *oncrpc.Server) dialer {
	return func(t *testing.T, s *oncrpc.Server) dialer {
		l, d := provider(t)
		serving(t, s, func() error {
			return rpcrdma.Serve(context.Background(), l, s, rpcrdma.Config{Logger: quiet, Credits: grant})
		})
		return func(net.Addr) caller { return dialRDMA(t, d, l.Addr()) }
	}
}

// serving runs serve until the test ends.
func serving(t *testing.T, s *oncrpc.Server, serve func() error) {
	served := make(chan error, 1)
	go func() { served <- serve() }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, oncrpc.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// ways are those to a server.
var ways = map[string]func(*testing.T, *oncrpc.Server) dialer{
	"TCP": reachTCP,
	"iWARP": reach(func(t *testing.T) (transport.Listener, transport.Dialer) {
		l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return l, iwarp.Dialer{}
	}),
	"SCTP": reach(func(t *testing.T) (transport.Listener, transport.Dialer) {
		l, d := sctprig.Listen(t, iwarp.Config{Logger: quiet}, sctp.Config{Logger: quiet})
		return l, d
	}),
	"RoCE": reach(func(t *testing.T) (transport.Listener, transport.Dialer) {
		l, d := rocerig.Listen(t, roce.Config{Logger: quiet})
		return l, d
	}),
	"loopback": reach(func(t *testing.T) (transport.Listener, transport.Dialer) {
		fabric := loopback.New()
		l, err := fabric.Listen("server", loopback.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return l, fabric.Dialer(loopback.Config{})
	}),
}

// A client whose connection is cut before it reads the reply repeats the call over another
// connection; over TCP from the same port. It gets the reply, and the call is executed once, even
// if the first copy is still being executed.
func TestOnceReconnect(t *testing.T) {
	for name, serve := range ways {
		for _, underWay := range []bool{false, true} {
			t.Run(name, func(t *testing.T) { testReconnect(t, serve, underWay) })
		}
	}
}

func testReconnect(t *testing.T, serve func(*testing.T, *oncrpc.Server) dialer, underWay bool) {
	var n counter
	started, open, executed := make(chan struct{}, 2), make(chan struct{}), make(chan struct{}, 2)
	s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Once: true, Handler: func(ctx context.Context, c *oncrpc.Call) error {
		started <- struct{}{}
		<-open
		defer func() { executed <- struct{}{} }()
		return n.handle(ctx, c)
	}})
	dial := serve(t, s)
	call := callBytes(0x01020304, 1, 9)

	lost := dial(nil)
	lost.call(call)
	<-started
	lost.cut()
	if !underWay {
		close(open)
		<-executed
	}
	again := dial(lost.addr())
	again.call(call)
	if underWay {
		close(open)
	}
	if got, want := again.reply(), unhex(t, accepted+"00000000 00000001"); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	again.cut()
	if got := n.Load(); got != 1 {
		t.Errorf("%d executions, want 1", got)
	}
}

// Two programs on one host choose the same transaction id for the same call. Both calls are
// executed: over TCP, because the ports differ; over RDMA, once the first program has made so many
// further calls that it must have the reply to this one. A late copy on the first connection is
// still answered.
func TestOnceSiblings(t *testing.T) {
	for name, serve := range ways {
		t.Run(name, func(t *testing.T) {
			var n counter
			s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Once: true, Handler: n.handle})
			dial := serve(t, s)
			first, second := dial(nil), dial(nil)
			defer first.cut()
			defer second.cut()
			ask := func(c caller, xid uint32) uint32 {
				c.call(callBytes(xid, 1, 9))
				return binary.BigEndian.Uint32(c.reply()[24:])
			}
			for xid := range uint32(1 + grant) {
				if got := ask(first, 100+xid); got != xid+1 {
					t.Fatalf("call %d of the first program: %d", xid, got)
				}
			}
			want := uint32(2 + grant)
			if got := ask(second, 100); got != want {
				t.Errorf("the second program got %d, want %d, the result of its own call", got, want)
			}
			// over RDMA it may be a late copy of the second program's call
			if name == "TCP" {
				want = 1
			}
			if got := ask(first, 100); got != want {
				t.Errorf("a copy on the first connection got %d, want %d", got, want)
			}
		})
	}
}

// A reply that a client need not have got answers its next connection.
func TestOnceUnknown(t *testing.T) {
	for name, serve := range ways {
		if name == "TCP" {
			continue // where the port tells clients apart
		}
		t.Run(name, func(t *testing.T) {
			var n counter
			s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Once: true, Handler: n.handle})
			dial := serve(t, s)
			first, second := dial(nil), dial(nil)
			defer first.cut()
			defer second.cut()
			for i, c := range []caller{first, first, second} {
				xid, want := uint32(100), uint32(1)
				if i == 1 { // a further call, one less than the grant
					xid, want = 101, 2
				}
				c.call(callBytes(xid, 1, 9))
				if got := binary.BigEndian.Uint32(c.reply()[24:]); got != want {
					t.Errorf("call %d: got %d, want %d", i, got, want)
				}
			}
		})
	}
}
