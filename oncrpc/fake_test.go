package oncrpc_test

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

const (
	testProgram = 0x20000003
	testVersion = 3
)

var quiet = slog.New(slog.DiscardHandler)

// fakeConn is one end of a connection without a network (see connection). The calling goroutine
// dispatches the call.
type fakeConn struct {
	t      testing.TB
	name   net.Addr
	peer   *fakeConn
	server atomic.Pointer[oncrpc.Server]
	ctx    context.Context
	cancel context.CancelFunc
}

type addr string

func (a addr) Network() string { return "fake" }
func (a addr) String() string  { return string(a) }

// connection returns both ends of a connection.
func connection(t testing.TB) (client, server *fakeConn) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	client = &fakeConn{t: t, name: addr("client"), ctx: ctx, cancel: cancel}
	server = &fakeConn{t: t, name: addr("server"), ctx: ctx, cancel: cancel}
	client.peer, server.peer = server, client
	return client, server
}

func (e *fakeConn) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	const xid = 0x1badcafe
	if err := x.Seal(xid); err != nil {
		return err
	}
	in := newIncoming(e.t, x.Call.AppendTo(nil))
	in.conn = e.peer
	oncrpc.DispatcherOf(e.peer.server.Load()).Dispatch(in)
	select {
	case reply := <-in.reply:
		if reply == nil {
			<-ctx.Done()
			return ctx.Err()
		}
		if got := binary.BigEndian.Uint32(reply); got != xid {
			e.t.Errorf("the reply has xid %08x, want %08x", got, xid)
		}
		x.SetReply(reply, nil, nil)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.ctx.Done():
		return net.ErrClosed
	}
}

func (e *fakeConn) Serve(s *oncrpc.Server) { e.server.Store(s) }
func (e *fakeConn) LocalAddr() net.Addr    { return e.name }
func (e *fakeConn) RemoteAddr() net.Addr   { return e.peer.name }
func (e *fakeConn) Close() error           { e.cancel(); return nil }
func (e *fakeConn) Done() <-chan struct{}  { return e.ctx.Done() }
func (e *fakeConn) Err() error             { return e.ctx.Err() }

// incoming is a call for Dispatcher.Dispatch.
type incoming struct {
	t        testing.TB
	args     xdr.Decoder
	conn     *fakeConn
	notReady bool
	answers  atomic.Int32
	reply    chan []byte          // gets the reply, or nil when the call was dropped
	hold     chan struct{}        // if set, replies leave when it is closed
	sent     func(m *xdr.Message) // if set, looks at a reply before it leaves
}

func newIncoming(t testing.TB, call []byte) *incoming {
	in := &incoming{t: t, reply: make(chan []byte, 1)}
	in.args.Reset(call, nil)
	return in
}

func (in *incoming) Message() *xdr.Decoder { return &in.args }
func (in *incoming) Ready() bool           { return !in.notReady }

func (in *incoming) Context() context.Context {
	if in.conn == nil {
		return context.Background()
	}
	return in.conn.ctx
}

func (in *incoming) Conn() oncrpc.Transport {
	if in.conn == nil {
		in.conn, _ = connection(in.t)
	}
	return in.conn
}

func (in *incoming) Reply(m xdr.Message) {
	if in.answers.Add(1) != 1 {
		in.t.Error("a call was answered twice")
	}
	if in.sent != nil {
		in.sent(&m)
	}
	reply := m.AppendTo(nil)
	if in.hold != nil {
		go func() {
			<-in.hold
			m.Release()
			in.reply <- reply
		}()
		return
	}
	m.Release()
	in.reply <- reply
}

func (in *incoming) Drop() {
	if in.answers.Add(1) != 1 {
		in.t.Error("a call was answered twice")
	}
	in.reply <- nil
}

// dispatch passes a call to the server and returns the reply.
func dispatch(t testing.TB, s *oncrpc.Server, call []byte) []byte {
	in := newIncoming(t, call)
	oncrpc.DispatcherOf(s).Dispatch(in)
	return <-in.reply
}

// newServer returns a server of testProgram. Its procedures from 1 on are procs.
func newServer(t testing.TB, cfg oncrpc.ServerConfig, procs ...oncrpc.Procedure) *oncrpc.Server {
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	s := oncrpc.NewServer(cfg)
	t.Cleanup(func() { s.Close() })
	s.Handle(oncrpc.Program{Name: "test", Number: testProgram, Version: testVersion,
		Procedures: append([]oncrpc.Procedure{{}}, procs...)})
	return s
}

// callBytes returns a call of testProgram with AUTH_NONE and arguments.
func callBytes(xid, procedure uint32, args ...uint32) []byte {
	h := oncrpc.CallHeader{XID: xid, RPCVersion: oncrpc.Version, Program: testProgram,
		Version: testVersion, Procedure: procedure}
	var e xdr.Encoder
	h.Encode(&e)
	for _, a := range args {
		e.Uint32(a)
	}
	return e.Message().Inline
}

// unhex decodes hexadecimal digits with blanks between them.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	p, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// word is a number, as arguments or results.
type word struct{ n uint32 }

func (w *word) MarshalXDR(e *xdr.Encoder)   { e.Uint32(w.n) }
func (w *word) UnmarshalXDR(d *xdr.Decoder) { w.n = d.Uint32() }

// bulk is bulk data, as arguments.
type bulk struct {
	data    []byte
	release xdr.Releaser
}

func (b bulk) MarshalXDR(e *xdr.Encoder) { e.BulkBytes(b.data, b.release) }

// releases counts.
type releases struct{ atomic.Int32 }

func (r *releases) Release() { r.Add(1) }

func encodeHeader(h *oncrpc.CallHeader) []byte {
	var e xdr.Encoder
	h.Encode(&e)
	return e.Message().Inline
}

// quietIncoming discards the reply.
type quietIncoming struct{ incoming }

func (in *quietIncoming) Reply(m xdr.Message) { m.Release() }

// signalingIncoming only tells that there is a reply.
type signalingIncoming struct {
	incoming
	replied chan struct{}
}

func (in *signalingIncoming) Reply(m xdr.Message) {
	m.Release()
	in.replied <- struct{}{}
}
