package rpcrdma_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen before it calls it a hang.
const patience = 20 * time.Second

// waitFor waits for a condition that no channel announces.
func waitFor(t testing.TB, cond func() bool) {
	t.Helper()
	waitRight(t, func() (wrong string) {
		if !cond() {
			wrong = "it did not come to that"
		}
		return wrong
	})
}

// waitRight waits until nothing is wrong.
func waitRight(t rapid.TB, wrong func() string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Microsecond) {
		what := wrong()
		if what == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

var quiet = slog.New(slog.DiscardHandler)

// The test program. All of its procedures take an items and, except where noted, return one.
const (
	testProgram = 400_000
	procNull    = 0
	procEcho    = 1 // returns its arguments
	procBlock   = 2 // like echo, after a word on program.gate
	procSink    = 3 // takes items and returns none
	procSource  = 4 // returns count items of size bytes, made by pattern
	procFail    = 5 // SYSTEM_ERR
)

// items is count bulk items between two words.
type items struct {
	data [][]byte
	land bool // decode into data, which has the right sizes
	tail uint32
}

func (a *items) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(uint32(len(a.data)))
	for _, p := range a.data {
		e.Uint32(0xfeedbeef) // something between them
		e.BulkBytes(p, nil)
	}
	e.Uint32(a.tail)
}

func (a *items) UnmarshalXDR(d *xdr.Decoder) {
	n := d.Count(64, 8)
	if !a.land {
		a.data = make([][]byte, n)
	}
	for i := range n {
		if d.Uint32() != 0xfeedbeef {
			d.Fail(xdr.ErrValue)
		}
		b := d.Bulk(1 << 26)
		if !a.land {
			a.data[i] = make([]byte, b.Len())
		}
		a.data[i] = a.data[i][:b.CopyTo(a.data[i])]
	}
	a.tail = d.Uint32()
}

// len returns the encoded length without the data.
func (a *items) len() int { return 4 + 8*len(a.data) + 4 }

// source is the arguments of procSource.
type source struct{ count, size uint32 }

func (s *source) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(s.count)
	e.Uint32(s.size)
}

// pattern returns n bytes that depend on seed.
func pattern(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	p := make([]byte, (n+7)&^7)
	for i := 0; i < len(p); i += 8 {
		binary.LittleEndian.PutUint64(p[i:], r.Uint64())
	}
	return p[:n:n]
}

// program is the test program and what it has seen.
type program struct {
	gate    chan struct{}      // procBlock takes one word from it
	entered chan struct{}      // procBlock has begun
	freed   chan struct{}      // reply data of procSource was released
	calls   chan *items        // the arguments of procSink
	conns   chan *rpcrdma.Conn // connections of procNull
	fetch   func(items int)    // called before items are fetched, if set
}

func newProgram() *program {
	return &program{
		gate: make(chan struct{}), entered: make(chan struct{}, 1024), freed: make(chan struct{}, 4096),
		calls: make(chan *items, 1024), conns: make(chan *rpcrdma.Conn, 1024),
	}
}

type releaseFunc func()

func (f releaseFunc) Release() { f() }

func (p *program) take(ctx context.Context, c *oncrpc.Call) (*items, error) {
	a := &items{}
	n := c.Args.Count(64, 8)
	var bulk []xdr.Bulk
	for range n {
		c.Args.Uint32()
		bulk = append(bulk, c.Args.Bulk(1<<26))
	}
	a.tail = c.Args.Uint32()
	if err := c.Args.Finish(); err != nil {
		return nil, err
	}
	if p.fetch != nil {
		p.fetch(n)
	}
	for i, b := range bulk {
		switch i % 3 {
		case 0: // into memory of its own, in pieces
			q := make([]byte, b.Len())
			k := b.Len() / 3
			if err := b.FetchInto(ctx, [][]byte{q[:k], nil, q[k:]}); err != nil {
				return nil, err
			}
			a.data = append(a.data, q)
		case 1:
			q, err := b.Bytes(ctx)
			if err != nil {
				return nil, err
			}
			a.data = append(a.data, bytes.Clone(q))
		case 2:
			q, r, err := b.Take(ctx)
			if err != nil {
				return nil, err
			}
			a.data = append(a.data, bytes.Clone(q))
			r.Release()
		}
	}
	return a, nil
}

func (p *program) program() oncrpc.Program {
	echo := func(ctx context.Context, c *oncrpc.Call) error {
		a, err := p.take(ctx, c)
		if err != nil {
			return err
		}
		a.MarshalXDR(c.Results)
		return nil
	}
	return oncrpc.Program{Name: "test", Number: testProgram, Version: 1, Procedures: []oncrpc.Procedure{
		procNull: {Name: "NULL", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			if conn, ok := c.Conn.(*rpcrdma.Conn); ok {
				select {
				case p.conns <- conn:
				default:
				}
			}
			return nil
		}},
		procEcho: {Name: "ECHO", Handler: echo, NonBlocking: true},
		procBlock: {Name: "BLOCK", Handler: func(ctx context.Context, c *oncrpc.Call) error {
			p.entered <- struct{}{}
			select {
			case <-p.gate:
			case <-ctx.Done():
				return ctx.Err()
			}
			return echo(ctx, c)
		}},
		procSink: {Name: "SINK", Handler: func(ctx context.Context, c *oncrpc.Call) error {
			a, err := p.take(ctx, c)
			if err == nil {
				p.calls <- a
			}
			return err
		}},
		procSource: {Name: "SOURCE", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			count, size := c.Args.Uint32(), c.Args.Uint32()
			if size > 1<<26 || count > 64 {
				return oncrpc.ErrGarbageArgs
			}
			c.Results.Uint32(count)
			for i := range count {
				c.Results.Uint32(0xfeedbeef)
				c.Results.BulkBytes(pattern(uint64(i), int(size)), releaseFunc(func() { p.freed <- struct{}{} }))
			}
			c.Results.Uint32(7)
			return nil
		}},
		procFail: {Name: "FAIL", NonBlocking: true, Handler: func(context.Context, *oncrpc.Call) error {
			return errors.New("it failed")
		}},
	}}
}

// rig is a server of the test program, for as long as the test runs. Its clients are real ones
// (dial), or played by hand (raw).
type rig struct {
	t       testing.TB
	fabric  *loopback.Fabric // nil on another provider
	dialer  transport.Dialer
	addr    string
	program *program
	server  *oncrpc.Server
	served  chan error
	cfg     rpcrdma.Config
	ledgers ledgers // of the server's connections
	hosts   hosts   // that these come from
}

const rigAddr = "server"

// newRig serves on a fabric of its own.
func newRig(t testing.TB, cfg rpcrdma.Config) *rig {
	return newRigOn(t, cfg, loopback.Config{}, sameEndpoint)
}

// newRigOn is newRig with a listener of lcfg, and wrap around the server's endpoints.
func newRigOn(t testing.TB, cfg rpcrdma.Config, lcfg loopback.Config, wrap endpointWrapper) *rig {
	t.Helper()
	f := loopback.New()
	l, err := f.Listen(rigAddr, lcfg)
	if err != nil {
		t.Fatal(err)
	}
	r := serveRig(t, cfg, l, f.Dialer(loopback.Config{}), wrap)
	r.fabric = f
	return r
}

// endpointWrapper changes what an endpoint does, for transport.WrapListener and WrapDialer.
type endpointWrapper func(transport.Endpoint) transport.Endpoint

func sameEndpoint(ep transport.Endpoint) transport.Endpoint { return ep }

// serveRig is newRig on any provider.
func serveRig(t testing.TB, cfg rpcrdma.Config, l transport.Listener, d transport.Dialer,
	wrap endpointWrapper) *rig {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	r := &rig{
		t: t, cfg: cfg, dialer: d, addr: l.Addr().String(),
		program: newProgram(), served: make(chan error, 1),
	}
	r.server = oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	r.server.Handle(r.program.program())
	for _, w := range []endpointWrapper{r.hosts.wrap, r.ledgers.wrap, wrap} {
		l = transport.WrapListener(l, w)
	}
	go func() { r.served <- rpcrdma.Serve(context.Background(), l, r.server, cfg) }()
	t.Cleanup(func() {
		r.server.Close()
		if err := wait(t, r.served); !errors.Is(err, oncrpc.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return r
}

// dial connects a client.
func (r *rig) dial(cfg rpcrdma.Config) *rpcrdma.Conn {
	r.t.Helper()
	return r.dialOn(cfg, guardAny)
}

// dialOn is dial with wrap around the client's endpoint.
func (r *rig) dialOn(cfg rpcrdma.Config, wrap endpointWrapper) *rpcrdma.Conn {
	r.t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	c, err := rpcrdma.Dial(context.Background(), transport.WrapDialer(r.dialer, wrap), r.addr, cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

// privateData is what a peer that speaks by hand says in its private data (RFC 8797 section 4); the
// zero value says nothing.
type privateData struct {
	Invalidate bool
	Send, Recv int // bytes
}

// bytes returns the private data.
func (p privateData) bytes() []byte {
	if p == (privateData{}) {
		return nil
	}
	flags := byte(0)
	if p.Invalidate {
		flags = 1
	}
	return []byte{0xf6, 0xab, 0x0e, 0x18, 1, flags, byte(p.Send/1024 - 1), byte(p.Recv/1024 - 1)}
}

// raw connects a peer that speaks by hand.
func (r *rig) raw(p privateData) *rawPeer {
	r.t.Helper()
	return newRawPeer(r.t, r.endpoint(p))
}

// endpoint connects a peer that speaks by hand, and takes no messages yet.
func (r *rig) endpoint(p privateData) transport.Endpoint {
	r.t.Helper()
	ep, err := r.dialer.Dial(context.Background(), r.addr, p.bytes())
	if err != nil {
		r.t.Fatal(err)
	}
	return ep
}

func client(c oncrpc.Transport) *oncrpc.Client {
	return oncrpc.NewClient(c, testProgram, 1, oncrpc.AuthNone())
}

// wait receives from ch, or fails the test.
func wait[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	return hang.Receive(t, fmt.Sprintf("a value of type %v", reflect.TypeFor[T]()), ch)
}

// rawServer accepts one connection on a fabric of its own, to play the server by hand, and
// returns the client connected to it.
func rawServer(t testing.TB, cfg rpcrdma.Config, p privateData) (*rpcrdma.Conn, *rawPeer) {
	t.Helper()
	return rawServerOn(t, cfg, p, sameEndpoint)
}

// rawServerOn is rawServer with wrap around the client's endpoint.
func rawServerOn(t testing.TB, cfg rpcrdma.Config, p privateData,
	wrap endpointWrapper) (*rpcrdma.Conn, *rawPeer) {
	t.Helper()
	c, ep, l := acceptRaw(t, cfg, p, wrap)
	peer := newRawPeer(t, ep)
	peer.clientLedger = l
	return c, peer
}

// unstartedServer is a rawServer that takes no messages yet.
func unstartedServer(t testing.TB) (*rpcrdma.Conn, transport.Endpoint) {
	t.Helper()
	c, ep, _ := acceptRaw(t, rpcrdma.Config{}, inline4k, sameEndpoint)
	return c, ep
}

// acceptRaw returns the client of a rawServer, the server's end, and the ledger of the client's.
func acceptRaw(t testing.TB, cfg rpcrdma.Config, p privateData,
	wrap endpointWrapper) (*rpcrdma.Conn, transport.Endpoint, *ledger) {
	t.Helper()
	f := loopback.New()
	l, err := f.Listen(rigAddr, loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	eps := make(chan transport.Endpoint, 1)
	go func() {
		req, err := l.Accept(context.Background())
		if err != nil {
			t.Error(err)
			return
		}
		ep, err := req.Accept(context.Background(), p.bytes())
		if err != nil {
			t.Error(err)
			return
		}
		eps <- ep
	}()
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	var made ledgers
	d := transport.WrapDialer(transport.WrapDialer(f.Dialer(loopback.Config{}), made.wrap), wrap)
	c, err := rpcrdma.Dial(context.Background(), d, rigAddr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, wait(t, eps), made.of(t, c)
}

// rawPeer is an endpoint played by hand: the test sends headers or bytes (send, sendBytes), reads
// and writes chunks (read, write), and looks at what comes (next). It is a rig's client (rig.raw),
// or the server of a real client (rawServer).
type rawPeer struct {
	t    testing.TB
	ep   transport.Endpoint
	msgs chan rawMsg

	clientLedger *ledger // of the other end, where that is a client
	granted      int     // by the latest answer to alive
}

// rawMsg is a message as it arrived.
type rawMsg struct {
	b           []byte
	invalidated transport.STag
	hasInv      bool
}

func newRawPeer(t testing.TB, ep transport.Endpoint) *rawPeer {
	p := &rawPeer{t: t, ep: ep, msgs: make(chan rawMsg, 4096)}
	for range 64 {
		p.recv()
	}
	ep.Start(p)
	t.Cleanup(func() {
		ep.Close()
		hang.Receive(t, "the end of the connection", ep.Done())
	})
	return p
}

func (p *rawPeer) recv() {
	p.ep.PostRecv(&transport.RecvRequest{Local: []transport.Slice{{Bytes: make([]byte, 8192)}}})
}

func (p *rawPeer) Received(batch []transport.Message) {
	for _, m := range batch {
		p.msgs <- rawMsg{m.Receive.Local[0].Bytes[:m.Len], m.Invalidated, m.HasInvalidate}
		p.recv()
	}
}

// do posts a work request and waits for its end.
func (p *rawPeer) do(wr transport.WorkRequest) {
	p.t.Helper()
	done := make(completer, 1)
	wr.Done, wr.Flags = done, wr.Flags|transport.Signaled
	if err := p.ep.Post(&wr); err != nil {
		p.t.Fatal(err)
	}
	if err := wait(p.t, done); err != nil {
		p.t.Fatal(err)
	}
}

type completer chan error

func (c completer) Complete(_ *transport.WorkRequest, err error) { c <- err }

// send sends a header and what follows it.
func (p *rawPeer) send(h *rpcrdma.Header, body ...[]byte) {
	p.t.Helper()
	b := h.Append(nil)
	for _, q := range body {
		b = append(b, q...)
	}
	p.sendBytes(b)
}

func (p *rawPeer) sendBytes(b []byte) {
	p.t.Helper()
	p.do(transport.WorkRequest{Op: transport.OpSend, Local: []transport.Slice{{Bytes: b}}})
}

// next returns the next message that arrives.
func (p *rawPeer) next() (*rpcrdma.Header, []byte) {
	p.t.Helper()
	h, body, _ := p.nextMsg()
	return h, body
}

func (p *rawPeer) nextMsg() (*rpcrdma.Header, []byte, rawMsg) {
	p.t.Helper()
	m := wait(p.t, p.msgs)
	h := &rpcrdma.Header{}
	n, err := h.Parse(m.b)
	if err != nil {
		p.t.Fatalf("message %x: %v", m.b, err)
	}
	return h, m.b[n:], m
}

// expose opens a window.
func (p *rawPeer) expose(b []byte, access transport.Access) chunks.Segment {
	p.t.Helper()
	r := transporttest.Expose(p.t, p.ep, []transport.Slice{{Bytes: b}}, access)
	return chunks.Segment{Handle: uint32(r.STag), Length: uint32(r.Len), Offset: r.Base}
}

// write writes b to a segment of the peer's.
func (p *rawPeer) write(s chunks.Segment, b []byte) {
	p.t.Helper()
	p.do(transport.WorkRequest{
		Op:     transport.OpWrite,
		Remote: transport.Remote{STag: transport.STag(s.Handle), Offset: s.Offset},
		Local:  []transport.Slice{{Bytes: b}},
	})
}

// read reads a segment of the peer's.
func (p *rawPeer) read(s chunks.Segment) []byte {
	p.t.Helper()
	b := make([]byte, s.Length)
	p.do(transport.WorkRequest{
		Op:     transport.OpRead,
		Remote: transport.Remote{STag: transport.STag(s.Handle), Offset: s.Offset},
		Local:  []transport.Slice{{Bytes: b}},
	})
	return b
}

// header returns a header of the right version.
func header(xid uint32, typ rpcrdma.Type) *rpcrdma.Header {
	return &rpcrdma.Header{XID: xid, Version: rpcrdma.ProtocolVersion, Credits: 32, Type: typ}
}

// callMessage returns an encoded call of the test program.
func callMessage(xid, proc uint32, args oncrpc.Marshaler) xdr.Message {
	var e xdr.Encoder
	h := oncrpc.CallHeader{XID: xid, RPCVersion: oncrpc.Version, Program: testProgram, Version: 1,
		Procedure: proc}
	h.Encode(&e)
	if args != nil {
		args.MarshalXDR(&e)
	}
	return e.Message()
}

// callBytes returns an encoded call with nothing left out.
func callBytes(xid, proc uint32, args oncrpc.Marshaler) []byte {
	m := callMessage(xid, proc, args)
	return m.AppendTo(nil)
}

// replyHeader returns the header of a successful reply (RFC 5531 section 9).
func replyHeader(xid uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, xid)
	b = binary.BigEndian.AppendUint32(b, uint32(oncrpc.MsgReply))
	return append(b, make([]byte, 16)...) // accepted, AUTH_NONE, empty, SUCCESS
}

func be32(words ...uint32) []byte {
	var b []byte
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// alive checks that the connection of a raw client still works.
func (p *rawPeer) alive() {
	p.t.Helper()
	const xid = 0xa11fe
	p.send(header(xid, rpcrdma.TypeMsg), callBytes(xid, procNull, nil))
	h, body := p.next()
	if h.XID != xid || h.Type != rpcrdma.TypeMsg || !bytes.Equal(body, replyHeader(xid)) {
		p.t.Fatalf("connection does not work any more: %v %x", h.Type, body)
	}
	p.granted = int(h.Credits)
}

// ended checks that the connection has ended.
func ended(t testing.TB, c *rpcrdma.Conn) {
	t.Helper()
	wait(t, c.Done())
	if err := c.Err(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Err() = %v, want net.ErrClosed", err)
	}
}

// checkReceives checks that a connection whose peer has nothing under way has as many receives for
// it as it granted: no message and no call was counted twice or not at all.
func (p *rawPeer) checkReceives(l *ledger) {
	p.t.Helper()
	p.alive()
	waitRight(p.t, func() (wrong string) {
		if got := l.state().Awaited; got != p.granted {
			wrong = fmt.Sprintf("the peer may send %d messages, and was granted %d", got, p.granted)
		}
		return wrong
	})
}
