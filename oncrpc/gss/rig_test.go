package gss_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// The test program: procedure 1 returns its argument, an unsigned integer.
const (
	testProgram = 400000
	testVersion = 3
)

type number uint32

func (n number) MarshalXDR(e *xdr.Encoder)    { e.Uint32(uint32(n)) }
func (n *number) UnmarshalXDR(d *xdr.Decoder) { *n = number(d.Uint32()) }

func same(_ context.Context, c *oncrpc.Call) error {
	c.Results.Uint32(c.Args.Uint32())
	return nil
}

// clock is a clock that the test sets.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }
func secret(m gsstest.Mechanism) *gsstest.Mechanism {
	m.Secret = []byte("secret")
	return &m
}

// newServer returns a server with the test program and the flavour.
func newServer(t testing.TB, cfg gss.ServerConfig, more ...oncrpc.Program) (*oncrpc.Server, *gss.ServerFlavor) {
	cfg.Logger = cmp.Or(cfg.Logger, quiet)
	f := gss.NewServerFlavor(cfg)
	s := oncrpc.NewServer(oncrpc.ServerConfig{Flavors: []oncrpc.ServerFlavor{f}, Logger: quiet})
	programs := append(more, oncrpc.Program{Number: testProgram, Version: testVersion,
		Procedures: []oncrpc.Procedure{1: {Handler: same}}})
	if err := s.Handle(programs...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, f
}

// peer is a connection without a network: the calling goroutine dispatches the call.
type peer struct {
	addr   net.Addr
	s      atomic.Pointer[oncrpc.Server]
	closed atomic.Bool
	xid    atomic.Uint32
	// answer, if set, answers in place of the server, unless it returns nil.
	answer func(call []byte) []byte
	// before, if set, is called before each call.
	before func(ctx context.Context) error
}

func newPeer(host byte, s *oncrpc.Server) *peer {
	a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, host}), 700)
	p := &peer{addr: net.TCPAddrFromAddrPort(a)}
	p.s.Store(s)
	return p
}

func (p *peer) RemoteAddr() net.Addr  { return p.addr }
func (p *peer) LocalAddr() net.Addr   { return p.addr }
func (p *peer) Close() error          { p.closed.Store(true); return nil }
func (p *peer) Serve(*oncrpc.Server)  {}
func (p *peer) Done() <-chan struct{} { return nil }
func (p *peer) Err() error            { return nil }
func (p *peer) client(f oncrpc.ClientFlavor) *oncrpc.Client {
	return oncrpc.NewClient(p, testProgram, testVersion, f)
}

func (p *peer) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	if p.before != nil {
		if err := p.before(ctx); err != nil {
			return err
		}
	}
	if err := x.Seal(p.xid.Add(1)); err != nil {
		return err
	}
	call := x.Call.AppendTo(nil)
	if p.answer != nil {
		if reply := p.answer(call); reply != nil {
			x.SetReply(reply, nil, nil)
			return nil
		}
	}
	reply := p.call(call)
	if reply == nil {
		return net.ErrClosed
	}
	x.SetReply(reply, nil, nil)
	return nil
}

// call passes a call to the server and returns the reply.
func (p *peer) call(call []byte) []byte {
	in := &incoming{conn: p, reply: make(chan []byte, 1)}
	in.decoder.Reset(bytes.Clone(call), nil)
	oncrpc.DispatcherOf(p.s.Load()).Dispatch(in)
	return <-in.reply
}

type incoming struct {
	conn    *peer
	decoder xdr.Decoder
	reply   chan []byte
}

func (in *incoming) Message() *xdr.Decoder    { return &in.decoder }
func (in *incoming) Ready() bool              { return true }
func (in *incoming) Context() context.Context { return context.Background() }
func (in *incoming) Conn() oncrpc.Transport   { return in.conn }
func (in *incoming) Drop()                    { in.reply <- nil }
func (in *incoming) Reply(m xdr.Message) {
	b := m.AppendTo(nil)
	m.Release()
	in.reply <- b
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// calls makes a call and checks its results.
func calls(t *testing.T, c *oncrpc.Client) {
	t.Helper()
	var n number
	if err := c.Call(t.Context(), 1, number(7), &n); err != nil || n != 7 {
		t.Errorf("got %d, %v", n, err)
	}
}

// plain is a mechanism without protection, whose output is constant and readable. A checksum is
// "sum" and the length of its message in a byte. Encryption reverses the bytes.
type plain struct {
	initiates atomic.Int32
	initiate  func(ctx context.Context) error // nil to succeed
	expires   func() time.Time
	fails     atomic.Bool // AppendWrap and AppendMIC of the acceptor
	broken    error       // the error
}

func (p *plain) Initiate(ctx context.Context, _ string) (gss.Negotiation, error) {
	p.initiates.Add(1)
	if p.initiate != nil {
		if err := p.initiate(ctx); err != nil {
			return nil, err
		}
	}
	return &plainNegotiation{p, true}, nil
}

func (p *plain) Accept() gss.Negotiation { return &plainNegotiation{p, false} }

type plainNegotiation struct {
	p         *plain
	initiates bool
}

func (n *plainNegotiation) Step(_ context.Context, token []byte) ([]byte, gss.Context, error) {
	c := &plainContext{n.p, n.initiates}
	if n.initiates && token == nil {
		return []byte("hello"), nil, nil
	}
	return []byte("welcome"), c, nil
}

type plainContext struct {
	p         *plain
	initiates bool
}

func (c *plainContext) AppendMIC(dst []byte, msg [][]byte) ([]byte, error) {
	if c.p.fails.Load() && !c.initiates {
		return nil, c.p.broken
	}
	n := 0
	for _, p := range msg {
		n += len(p)
	}
	return append(dst, 's', 'u', 'm', byte(n), byte(n>>8)), nil
}

func (c *plainContext) VerifyMIC(mic []byte, msg [][]byte) error {
	n := 0
	for _, p := range msg {
		n += len(p)
	}
	if len(mic) != 5 || string(mic[:3]) != "sum" || mic[3] != byte(n) || mic[4] != byte(n>>8) {
		return &gss.StatusError{Major: gss.BadMIC}
	}
	return nil
}

func (c *plainContext) AppendWrap(dst []byte, msg [][]byte) ([]byte, error) {
	if c.p.fails.Load() && !c.initiates {
		return nil, c.p.broken
	}
	dst = append(dst, '<')
	for _, p := range msg {
		for _, b := range p {
			dst = append(dst, ^b)
		}
	}
	return append(dst, '>'), nil
}

func (c *plainContext) Unwrap(token []byte) ([]byte, error) {
	n := len(token) - 1
	if n < 1 || token[0] != '<' || token[n] != '>' {
		return nil, &gss.StatusError{Major: gss.BadMIC}
	}
	for i := range token[1:n] {
		token[1+i] ^= 0xff
	}
	return token[1:n], nil
}

func (c *plainContext) MaxMIC() int       { return 5 }
func (c *plainContext) WrapLen(n int) int { return n + 2 }
func (c *plainContext) Peer() string      { return "alice@TEST" }
func (c *plainContext) Expires() time.Time {
	if c.p.expires != nil {
		return c.p.expires()
	}
	return time.Time{}
}
