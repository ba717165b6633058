package oncrpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// caller is a connection on which the test chooses transaction ids.
type caller interface {
	call(message []byte)
	reply() []byte
	cut()
}

// listeners are the addresses of a server that can be reached in several ways.
type listeners struct {
	tcp        net.Listener
	iwarp      *iwarp.Listener
	loopback   *loopback.Listener
	overFabric *loopback.Dialer // to loopback, from the client's host
}

// dialer connects to a server.
type dialer func(t *testing.T, to *listeners) caller

// tcpCaller sends calls as records with one fragment (RFC 5531 section 11).
type tcpCaller struct {
	t    *testing.T
	conn net.Conn
}

func dialTCP(t *testing.T, to *listeners) caller {
	conn, err := net.Dial("tcp", to.tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return &tcpCaller{t, conn}
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

func (c *tcpCaller) cut() { c.conn.Close() }

// rdmaCaller sends calls inline over RDMA.
type rdmaCaller struct {
	t       *testing.T
	ep      transport.Endpoint
	replies chan []byte
}

func dialIWARP(t *testing.T, to *listeners) caller {
	return dialRDMA(t, iwarp.Dialer{}, to.iwarp)
}

func dialLoopback(t *testing.T, to *listeners) caller {
	return dialRDMA(t, to.overFabric, to.loopback)
}

func dialRDMA(t *testing.T, d transport.Dialer, to transport.Listener) caller {
	ep, err := d.Dial(t.Context(), to.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &rdmaCaller{t, ep, make(chan []byte, 1)}
	if err := ep.PostRecv(&transport.RecvRequest{Local: []transport.Slice{{Bytes: make([]byte, rpcrdma.DefaultInline)}}}); err != nil {
		t.Fatal(err)
	}
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
	h := rpcrdma.Header{XID: binary.BigEndian.Uint32(m), Version: rpcrdma.ProtocolVersion, Credits: 1, Type: rpcrdma.TypeMsg}
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

// A client whose connection is cut before it reads the reply repeats the call over another
// connection, maybe of another transport. It gets the reply, and the call is executed once, even if
// the first copy is still being executed.
func TestOnceReconnect(t *testing.T) {
	tests := []struct {
		name          string
		first, second dialer
	}{
		{"TCP", dialTCP, dialTCP},
		{"iWARP", dialIWARP, dialIWARP},
		{"TCP, then iWARP", dialTCP, dialIWARP},
		{"iWARP, then TCP", dialIWARP, dialTCP},
		{"loopback", dialLoopback, dialLoopback},
	}
	for _, tt := range tests {
		for _, underWay := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) { testReconnect(t, tt.first, tt.second, underWay) })
		}
	}
}

func testReconnect(t *testing.T, first, second dialer, underWay bool) {
	var n counter
	started, open, executed := make(chan struct{}, 2), make(chan struct{}), make(chan struct{}, 2)
	s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Once: true, Handler: func(ctx context.Context, c *oncrpc.Call) error {
		started <- struct{}{}
		<-open
		defer func() { executed <- struct{}{} }()
		return n.handle(ctx, c)
	}})
	var at listeners
	var err error
	if at.tcp, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if at.iwarp, err = iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{}); err != nil {
		t.Fatal(err)
	}
	fabric := loopback.New()
	if at.loopback, err = fabric.Listen("server", loopback.Config{}); err != nil {
		t.Fatal(err)
	}
	at.overFabric = fabric.Dialer(loopback.Config{})
	served := make(chan error, 3)
	go func() { served <- recordmark.Serve(t.Context(), at.tcp, s, recordmark.Config{Logger: quiet}) }()
	for _, l := range []transport.Listener{at.iwarp, at.loopback} {
		go func() { served <- rpcrdma.Serve(t.Context(), l, s, rpcrdma.Config{Logger: quiet}) }()
	}
	call := callBytes(0x01020304, 1, 9)

	lost := first(t, &at)
	lost.call(call)
	<-started
	lost.cut()
	if !underWay {
		close(open)
		<-executed
	}
	again := second(t, &at)
	again.call(call)
	if underWay {
		close(open)
	}
	if got, want := again.reply(), unhex(t, accepted+"00000000 00000001"); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	again.cut()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	for range cap(served) {
		if err := <-served; !errors.Is(err, oncrpc.ErrServerClosed) {
			t.Error(err)
		}
	}
	if got := n.Load(); got != 1 {
		t.Errorf("%d executions, want 1", got)
	}
}
