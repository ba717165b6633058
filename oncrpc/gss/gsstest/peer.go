package gsstest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// The program that the suite calls.
const (
	program   = 400000
	version   = 3
	procEcho  = 1 // returns its arguments
	procCount = 2 // marked Once; returns how often it was executed
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// server is a server with the flavour and nothing else.
type server struct {
	*oncrpc.Server
	flavor   *gss.ServerFlavor
	executed atomic.Int32
	lastID   atomic.Pointer[gss.Caller]
	lose     atomic.Bool // procCount closes its connection, once
}

func newServer(t testing.TB, cfg gss.ServerConfig) *server {
	cfg.Logger = quiet
	s := &server{flavor: gss.NewServerFlavor(cfg)}
	s.Server = oncrpc.NewServer(oncrpc.ServerConfig{
		Flavors: []oncrpc.ServerFlavor{s.flavor}, Logger: quiet,
	})
	err := s.Handle(oncrpc.Program{Number: program, Version: version, Procedures: []oncrpc.Procedure{
		procEcho:  {Handler: s.echo},
		procCount: {Handler: s.count, Once: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func (s *server) seen(c *oncrpc.Call) {
	s.executed.Add(1)
	id := *c.Identity().(*gss.Caller)
	s.lastID.Store(&id)
}

// echo returns the text in its arguments.
func (s *server) echo(ctx context.Context, c *oncrpc.Call) error {
	s.seen(c)
	c.Results.Uint32(c.Args.Uint32())
	data, err := c.Args.Bulk(maxText).Bytes(ctx)
	if err != nil {
		return err
	}
	c.Results.BulkBytes(data, nil)
	return c.Args.Finish()
}

func (s *server) count(ctx context.Context, c *oncrpc.Call) error {
	s.seen(c)
	c.Results.Uint32(uint32(s.executed.Load()))
	if s.lose.CompareAndSwap(true, false) {
		c.Conn.Close()
		<-ctx.Done()
	}
	return nil
}

const maxText = 1<<20 + 1

// text is the arguments and results of echo.
type text struct{ data, into []byte }

func (b *text) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(uint32(len(b.data)))
	e.BulkBytes(b.data, nil)
}

func (b *text) UnmarshalXDR(d *xdr.Decoder) {
	n := d.Uint32()
	b.data = d.BulkInto(b.into)
	if n != uint32(len(b.data)) {
		d.Fail(xdr.ErrValue)
	}
}

// encoded returns the encoding of a text.
func encoded(data string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	return appendOpaque(b, []byte(data))
}

// conn is a connection of a scripted peer.
type conn struct {
	oncrpc.Transport // nil, because it does not call
	addr             net.Addr
	closed           atomic.Bool
}

func newConn(host byte) *conn {
	a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, host}), 700)
	return &conn{addr: net.TCPAddrFromAddrPort(a)}
}

func (c *conn) RemoteAddr() net.Addr { return c.addr }
func (c *conn) LocalAddr() net.Addr  { return c.addr }
func (c *conn) Close() error         { c.closed.Store(true); return nil }

// incoming is a call of a scripted peer.
type incoming struct {
	conn    *conn
	decoder xdr.Decoder
	reply   chan []byte // nil if dropped
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

// answers passes a call to the server and returns the reply, or nil if the server drops the call.
func (s *server) answers(c *conn, call []byte) []byte {
	in := &incoming{conn: c, reply: make(chan []byte, 1)}
	in.decoder.Reset(bytes.Clone(call), nil)
	oncrpc.DispatcherOf(s.Server).Dispatch(in)
	return <-in.reply
}

func word(b []byte, words ...uint32) []byte {
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// appendOpaque appends variable-length opaque data (RFC 4506 section 4.10).
func appendOpaque(b, data []byte) []byte {
	b = append(word(b, uint32(len(data))), data...)
	return append(b, make([]byte, -len(data)&3)...)
}

// cred is a credential.
type cred struct {
	version, proc, seq, service uint32
	handle                      []byte
}

func (c *cred) body() []byte {
	return appendOpaque(word(nil, c.version, c.proc, c.seq, c.service), c.handle)
}

// header returns the header of a call up to the credential.
func header(xid, procedure uint32, credBody []byte) []byte {
	b := word(nil, xid, 0, 2, program, version, procedure, uint32(oncrpc.FlavorGSS))
	return appendOpaque(b, credBody)
}

// creation returns a call that creates a context.
func creation(c *cred, token []byte) []byte {
	return appendOpaque(word(header(1, 0, c.body()), 0, 0), token)
}

// session is a context of a scripted client.
type session struct {
	gss.Context
	handle []byte
	window uint32
	s      *server
	conn   *conn
}

// establish creates a context byte by byte.
func (s *server) establish(t testing.TB, e Ends, c *conn) *session {
	t.Helper()
	n, err := e.Initiator.Initiate(t.Context(), e.Target)
	if err != nil {
		t.Fatal(err)
	}
	token, made, err := n.Step(t.Context(), nil)
	call := cred{version: 1, proc: 1}
	for range 20 {
		if err != nil {
			t.Fatal(err)
		}
		res := decodeCreated(t, s.answers(c, creation(&call, token)))
		switch {
		case res.major > 1:
			t.Fatalf("context is refused: major 0x%x, minor %d", res.major, res.minor)
		case made == nil:
			token, made, err = n.Step(t.Context(), res.token)
			if err != nil {
				t.Fatal(err)
			}
		}
		if res.major == 0 {
			if made == nil {
				t.Fatal("context is made at the server alone")
			}
			return &session{made, checkCreated(t, made, res), res.window, s, c}
		}
		if res.verf != 0 || len(res.mic) > 0 {
			t.Fatalf("verifier %d %x while the context is being made", res.verf, res.mic)
		}
		call.proc, call.handle = 2, res.handle
	}
	t.Fatal("context is never made")
	return nil
}

// created is the answer to a call that creates a context.
type created struct {
	verf                 uint32
	mic                  []byte
	handle               []byte
	major, minor, window uint32
	token                []byte
}

func decodeCreated(t testing.TB, reply []byte) *created {
	t.Helper()
	d := xdr.NewDecoder(reply)
	xid, kind, stat := d.Uint32(), d.Uint32(), d.Uint32()
	c := &created{verf: d.Uint32(), mic: d.Opaque(400)}
	accept := d.Uint32()
	c.handle, c.major, c.minor, c.window, c.token = d.Opaque(400), d.Uint32(), d.Uint32(), d.Uint32(), d.Opaque(1<<20)
	if err := d.Finish(); err != nil || xid != 1 || kind != 1 || stat != 0 || accept != 0 {
		t.Fatalf("answer to a creation is %x: %v", reply, err)
	}
	return c
}

// checkCreated checks the verifier (RFC 2203 section 5.2.3.1) and returns the handle.
func checkCreated(t testing.TB, made gss.Context, c *created) []byte {
	t.Helper()
	if c.verf != uint32(oncrpc.FlavorGSS) {
		t.Errorf("verifier of flavour %d", c.verf)
	}
	if err := made.VerifyMIC(c.mic, [][]byte{word(nil, c.window)}); err != nil {
		t.Errorf("verifier: %v", err)
	}
	if len(c.handle) < 8 || c.window == 0 {
		t.Errorf("handle %x, window %d", c.handle, c.window)
	}
	return c.handle
}

// layout says where the parts of a call begin.
type layout struct{ cred, verf, body int }

// call returns a call with a context, with arguments protected by service.
func (s *session) call(t testing.TB, xid, seq uint32, service gss.Service, procedure uint32,
	args []byte) ([]byte, layout) {
	t.Helper()
	c := cred{1, 0, seq, uint32(service), s.handle}
	b, l := s.signed(t, header(xid, procedure, c.body()))
	return append(b, s.protected(t, seq, service, args)...), l
}

// signed appends the verifier to a header.
func (s *session) signed(t testing.TB, b []byte) ([]byte, layout) {
	t.Helper()
	mic, err := s.AppendMIC(nil, [][]byte{b})
	if err != nil {
		t.Fatal(err)
	}
	l := layout{cred: 24, verf: len(b)}
	b = appendOpaque(word(b, uint32(oncrpc.FlavorGSS)), mic)
	l.body = len(b)
	return b, l
}

// protected returns arguments or results as a service protects them (RFC 2203 section 5.3.2).
func (s *session) protected(t testing.TB, seq uint32, service gss.Service, data []byte) []byte {
	t.Helper()
	body := append(word(nil, seq), data...)
	switch service {
	case gss.Integrity:
		mic, err := s.AppendMIC(nil, [][]byte{body})
		if err != nil {
			t.Fatal(err)
		}
		return appendOpaque(appendOpaque(nil, body), mic)
	case gss.Privacy:
		token, err := s.AppendWrap(nil, [][]byte{body})
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(token, body) {
			t.Error("what is encrypted has the plain text in it")
		}
		return appendOpaque(nil, token)
	}
	return data
}

// results checks the protection of a reply with SUCCESS and returns its results.
func (s *session) results(t testing.TB, reply []byte, seq uint32, service gss.Service) []byte {
	t.Helper()
	d := xdr.NewDecoder(reply)
	d.Raw(12)
	if flavor := d.Uint32(); flavor != uint32(oncrpc.FlavorGSS) {
		t.Fatalf("reply %x has a verifier of flavour %d", reply, flavor)
	}
	if err := s.VerifyMIC(d.Opaque(400), [][]byte{word(nil, seq)}); err != nil {
		t.Errorf("verifier: %v", err)
	}
	if stat := d.Uint32(); stat != 0 {
		t.Fatalf("accept_stat %d", stat)
	}
	var body []byte
	switch service {
	case gss.None:
		return d.Raw(d.Remaining())
	case gss.Integrity:
		body = d.Opaque(1 << 24)
		if err := s.VerifyMIC(d.Opaque(1000), [][]byte{body}); err != nil {
			t.Errorf("checksum: %v", err)
		}
	case gss.Privacy:
		var err error
		if body, err = s.Unwrap(d.Opaque(1 << 24)); err != nil {
			t.Fatalf("results: %v", err)
		}
	}
	if err := d.Finish(); err != nil || !bytes.HasPrefix(body, word(nil, seq)) {
		t.Fatalf("results %x: %v", body, err)
	}
	return body[4:]
}

// outcome returns the outcome that a reply reports.
func outcome(reply []byte) string {
	if reply == nil {
		return "nothing"
	}
	d := xdr.NewDecoder(reply)
	d.Raw(8)
	if d.Uint32() == 1 {
		if d.Uint32() == 0 {
			return "RPC_MISMATCH"
		}
		return oncrpc.AuthStat(d.Uint32()).String()
	}
	verf := d.Uint32()
	d.Opaque(400)
	stat := oncrpc.AcceptStat(d.Uint32())
	if d.Err() != nil {
		return fmt.Sprintf("%x", reply)
	}
	if verf != uint32(oncrpc.FlavorGSS) && stat != oncrpc.Success {
		return stat.String() + " without verifier"
	}
	return stat.String()
}
