package oncrpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// carrier serves a server on a transport and returns a dialer.
type carrier func(t *testing.T, s *oncrpc.Server) (dial func(ctx context.Context) (oncrpc.Transport, error))

var carriers = map[string]carrier{"TCP": overTCP, "RDMA": overRDMA}

func overTCP(t *testing.T, s *oncrpc.Server) func(context.Context) (oncrpc.Transport, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serves(t, s, func() error { return recordmark.Serve(context.Background(), l, s, recordmark.Config{Logger: quiet}) })
	return func(ctx context.Context) (oncrpc.Transport, error) {
		return recordmark.Dial(ctx, l.Addr().String(),
			recordmark.Config{EnforceMaxReply: true, Logger: quiet})
	}
}

func overRDMA(t *testing.T, s *oncrpc.Server) func(context.Context) (oncrpc.Transport, error) {
	f := loopback.New()
	l, err := f.Listen("server", loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	serves(t, s, func() error { return rpcrdma.Serve(context.Background(), l, s, rpcrdma.Config{Logger: quiet}) })
	return func(ctx context.Context) (oncrpc.Transport, error) {
		return rpcrdma.Dial(ctx, f.Dialer(loopback.Config{}), "server", rpcrdma.Config{Logger: quiet})
	}
}

// overIWARP uses connections whose peer addresses are the same after reconnecting.
func overIWARP(t *testing.T, s *oncrpc.Server) func(context.Context) (oncrpc.Transport, error) {
	l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	serves(t, s, func() error { return rpcrdma.Serve(context.Background(), l, s, rpcrdma.Config{Logger: quiet}) })
	return func(ctx context.Context) (oncrpc.Transport, error) {
		return rpcrdma.Dial(ctx, iwarp.Dialer{}, l.Addr().String(), rpcrdma.Config{Logger: quiet})
	}
}

// serves runs a Serve function until the test ends.
func serves(t *testing.T, s *oncrpc.Server, serve func() error) {
	served := make(chan error, 1)
	go func() { served <- serve() }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; !errors.Is(err, oncrpc.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
}

// connect makes a connection and closes it when the test ends.
func connect(t *testing.T, dial func(context.Context) (oncrpc.Transport, error)) oncrpc.Transport {
	t.Helper()
	c, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		<-c.Done()
	})
	return c
}

// onCarriers runs a test over each transport.
func onCarriers(t *testing.T, test func(t *testing.T, over carrier)) {
	for name, over := range carriers {
		t.Run(name, func(t *testing.T) { test(t, over) })
	}
}

func macConfig(m *macServer) oncrpc.ServerConfig {
	return oncrpc.ServerConfig{Flavors: []oncrpc.ServerFlavor{oncrpc.AcceptAuthNone(), m}}
}

// echo is bulk data, as arguments and as results.
type echo struct{ data, into []byte }

func (b *echo) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(7)
	e.BulkBytes(b.data, nil)
	e.Uint32(8)
}

func (b *echo) UnmarshalXDR(d *xdr.Decoder) {
	before := d.Uint32()
	b.data = d.BulkInto(b.into)
	if d.Uint32() != 8 || before != 7 {
		d.Fail(xdr.ErrValue)
	}
}

// echoes returns its arguments.
func echoes(ctx context.Context, c *oncrpc.Call) error {
	c.Results.Uint32(c.Args.Uint32())
	data, err := c.Args.Bulk(1 << 20).Bytes(ctx)
	if err != nil {
		return err
	}
	c.Results.BulkBytes(data, nil)
	c.Results.Uint32(c.Args.Uint32())
	return c.Args.Finish()
}

// A flavour that protects header, arguments and results works over both transports and for all
// lengths. Its data never travels separately from the message.
func TestFlavor(t *testing.T) {
	onCarriers(t, func(t *testing.T, over carrier) {
		who := make(chan string, 100)
		ms := &macServer{keys: map[string]string{"alice": "secret"}}
		s := newServer(t, macConfig(ms), oncrpc.Procedure{NonBlocking: true, Handler: func(ctx context.Context, c *oncrpc.Call) error {
			who <- c.Identity().String()
			if _, sys := c.Sys(); sys {
				t.Error("the call has AUTH_SYS")
			}
			return echoes(ctx, c)
		}})
		conn := connect(t, over(t, s))
		mc := &macClient{name: "alice", key: "secret"}
		c := oncrpc.NewClient(conn, testProgram, testVersion, mc)
		for i, size := range []int{0, 5, 1000, 5000, 100_001} {
			into := make([]byte, size)
			args, res := &echo{data: bytes.Repeat([]byte{byte(size), 1}, size)[:size]}, &echo{into: into}
			if err := c.Do(t.Context(), &oncrpc.Request{Procedure: 1, Args: args, Reply: res, MaxReply: 12, Results: [][]byte{into}}); err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			if !bytes.Equal(res.data, args.data) {
				t.Errorf("%d bytes came back as %d others", size, len(res.data))
			}
			if got := <-who; got != "alice" {
				t.Errorf("called by %q", got)
			}
			if seq := ms.sequence(); seq[len(seq)-1] != uint32(i+1) {
				t.Errorf("sequence numbers %v", seq)
			}
		}
		if err := c.Call(t.Context(), 0, nil, nil); err != nil {
			t.Errorf("NULL: %v", err)
		}
		if conn, ok := conn.(*rpcrdma.Conn); ok {
			if grant, inFlight, waiting := conn.Credits(); inFlight != 0 || waiting != 0 {
				t.Errorf("credits: grant %d, %d in flight, %d waiting", grant, inFlight, waiting)
			}
		}
		// Outcomes other than SUCCESS are not wrapped, but their verifier is checked.
		var accept *oncrpc.AcceptError
		if err := c.Call(t.Context(), 9, nil, nil); !errors.As(err, &accept) || accept.Stat != oncrpc.ProcUnavail {
			t.Errorf("procedure 9: %v, want PROC_UNAVAIL", err)
		}
		if err := c.Call(t.Context(), 1, &word{1}, nil); !errors.As(err, &accept) || accept.Stat != oncrpc.GarbageArgs {
			t.Errorf("short arguments: %v, want GARBAGE_ARGS", err)
		}
		<-who
		// The flavour answers this call itself.
		var hello greeting
		ms.mu.Lock()
		before := len(ms.seen)
		ms.mu.Unlock()
		err := oncrpc.NewClient(conn, testProgram, testVersion, &unwrapped{mc}).Call(t.Context(), 0, &word{1}, &hello)
		if err != nil || !bytes.Equal(hello[0], macGreeting) || !bytes.Equal(hello[1], macGreeting) {
			t.Errorf("greeting %q, %v", hello, err)
		}
		if n := len(ms.sequence()); n != before+1 {
			t.Errorf("%d calls accepted, want 1", n-before)
		}
	})
}

// greeting is the flavour's own answer.
type greeting [2][]byte

func (g *greeting) UnmarshalXDR(d *xdr.Decoder) {
	for i := range g {
		g[i] = bytes.Clone(d.Opaque(100))
	}
}

// unwrapped is macClient for the flavour's own answers, which are not wrapped.
type unwrapped struct{ *macClient }

type plainCheck struct{ oncrpc.ReplyCheck }

func (plainCheck) Open(*xdr.Decoder) error { return nil }

func (u *unwrapped) Seal(e *xdr.Encoder, args *xdr.Message) (oncrpc.ReplyCheck, error) {
	check, err := u.macClient.Seal(e, args)
	return plainCheck{check}, err
}

// Either end notices manipulated messages.
func TestFlavorRefuses(t *testing.T) {
	tests := []struct {
		name   string
		client macClient
		server macServer
		want   error
		again  bool // the same client succeeds later
	}{
		{"unknown caller", macClient{name: "bob", key: "secret"}, macServer{}, &oncrpc.AuthError{Stat: oncrpc.AuthBadVerf}, false},
		{"another key", macClient{name: "alice", key: "guess"}, macServer{}, &oncrpc.AuthError{Stat: oncrpc.AuthBadVerf}, false},
		{"reply by another", macClient{name: "alice", key: "secret"}, macServer{replyKey: "guess"}, errMAC, false},
		{"results not wrapped", macClient{name: "alice", key: "secret"}, macServer{wrapErr: io.ErrNoProgress}, &oncrpc.AcceptError{Stat: oncrpc.SystemErr}, false},
		{"not ready", macClient{name: "alice", key: "secret", fail: io.ErrNoProgress}, macServer{}, io.ErrNoProgress, false},
	}
	onCarriers(t, func(t *testing.T, over carrier) {
		for i := range tests {
			tt := &tests[i]
			t.Run(tt.name, func(t *testing.T) {
				ms := &macServer{keys: map[string]string{"alice": "secret"}, replyKey: tt.server.replyKey, wrapErr: tt.server.wrapErr}
				mc := &macClient{name: tt.client.name, key: tt.client.key, fail: tt.client.fail}
				s := newServer(t, macConfig(ms), oncrpc.Procedure{Handler: echoes})
				conn := connect(t, over(t, s))
				var rel releases
				err := oncrpc.NewClient(conn, testProgram, testVersion, mc).Call(t.Context(), 1, bulk{make([]byte, 5000), &rel}, nil)
				var auth, wantAuth *oncrpc.AuthError
				var accept, wantAccept *oncrpc.AcceptError
				switch {
				case errors.As(tt.want, &wantAuth):
					if !errors.As(err, &auth) || *auth != *wantAuth {
						t.Errorf("got %v, want %v", err, tt.want)
					}
				case errors.As(tt.want, &wantAccept):
					// The arguments do not decode, so use a call with results.
					err = oncrpc.NewClient(conn, testProgram, testVersion, mc).Call(t.Context(), 1, &echo{data: []byte("x")}, nil)
					if !errors.As(err, &accept) || *accept != *wantAccept {
						t.Errorf("got %v, want %v", err, tt.want)
					}
				default:
					if !errors.Is(err, tt.want) || errors.Is(tt.want, errMAC) && !errors.Is(err, oncrpc.ErrMalformedReply) {
						t.Errorf("got %v, want %v", err, tt.want)
					}
				}
				if n := rel.Load(); n != 1 {
					t.Errorf("arguments released %d times, want once", n)
				}
				// The connection stays usable.
				if err := oncrpc.NewClient(conn, testProgram, testVersion, nil).Call(t.Context(), 0, nil, nil); err != nil {
					t.Errorf("AUTH_NONE: %v", err)
				}
				if _, sys := errors.AsType[*oncrpc.AuthError](oncrpc.NewClient(conn, testProgram, testVersion, mustAuthSys(oncrpc.SysCred{})).Call(t.Context(), 0, nil, nil)); !sys {
					t.Error("AUTH_SYS is accepted, though the server was not given it")
				}
			})
		}
	})
}

// After a denial, the flavour may retry the call with a new credential and sequence number. A
// second denial is final.
func TestFlavorDenied(t *testing.T) {
	onCarriers(t, func(t *testing.T, over carrier) {
		var n counter
		ms := &macServer{keys: map[string]string{"alice": "secret"}}
		s := newServer(t, macConfig(ms), oncrpc.Procedure{Handler: n.handle})
		mc := &macClient{name: "alice", key: "secret"}
		c := oncrpc.NewClient(connect(t, over(t, s)), testProgram, testVersion, mc)
		var got word
		for _, tt := range []struct {
			session uint32 // the least that the server takes
			denials uint32
			denied  bool
		}{{0, 0, false}, {1, 1, false}, {3, 2, true}} {
			mc.denials.Store(0)
			mc.readies.Store(0)
			ms.mu.Lock()
			ms.session = tt.session
			ms.mu.Unlock()
			executed := n.Load()
			err := c.Call(t.Context(), 1, nil, &got)
			var auth *oncrpc.AuthError
			if errors.As(err, &auth) != tt.denied || err != nil != tt.denied {
				t.Errorf("session %d: %v", tt.session, err)
			}
			// After the last denial the flavour is not asked.
			if d, r := mc.denials.Load(), mc.readies.Load(); d != min(tt.denials, 1) || r != min(tt.denials, 1)+1 {
				t.Errorf("session %d: denied %d times, made ready %d times", tt.session, d, r)
			}
			if got := n.Load() - executed; got == 1 == tt.denied {
				t.Errorf("session %d: %d executions", tt.session, got)
			}
		}
	})
}

// busy is macClient that refuses to seal some times.
type busy struct {
	*macClient
	refusals atomic.Int32
}

func (b *busy) Seal(e *xdr.Encoder, args *xdr.Message) (oncrpc.ReplyCheck, error) {
	if b.refusals.Add(-1) >= 0 {
		return nil, fmt.Errorf("busy: %w", oncrpc.ErrNotReady)
	}
	return b.macClient.Seal(e, args)
}

// A call that cannot be sealed yet waits in Ready again. It may still be denied once.
func TestFlavorNotReady(t *testing.T) {
	onCarriers(t, func(t *testing.T, over carrier) {
		var n counter
		ms := &macServer{keys: map[string]string{"alice": "secret"}, session: 1}
		s := newServer(t, macConfig(ms), oncrpc.Procedure{Handler: n.handle})
		b := &busy{macClient: &macClient{name: "alice", key: "secret"}}
		b.refusals.Store(3)
		c := oncrpc.NewClient(connect(t, over(t, s)), testProgram, testVersion, b)
		if err := c.Call(t.Context(), 1, nil, new(word)); err != nil {
			t.Error(err)
		}
		if r, d := b.readies.Load(), b.denials.Load(); r != 5 || d != 1 || n.Load() != 1 {
			t.Errorf("made ready %d times, denied %d times, %d executions; want 5, 1, 1", r, d, n.Load())
		}
	})
}

// A call whose connection is lost is sent again as another transmission, with a new sequence
// number. The reply cache finds it, and its results are wrapped for the new transmission.
func TestFlavorRepeats(t *testing.T) {
	test := func(t *testing.T, over carrier) {
		var n counter
		ms := &macServer{keys: map[string]string{"alice": "secret", "bob": "other"}}
		s := newServer(t, macConfig(ms), oncrpc.Procedure{Once: true, Handler: func(ctx context.Context, c *oncrpc.Call) error {
			err := n.handle(ctx, c)
			if n.Load() == 1 {
				c.Conn.Close() // before the reply
				<-ctx.Done()
			}
			return err
		}})
		dial := over(t, s)
		conn, err := redial.New(t.Context(), dial, redial.Config{Wait: time.Minute, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			conn.Close()
			<-conn.Done()
		}()
		c := oncrpc.NewClient(conn, testProgram, testVersion, &macClient{name: "alice", key: "secret"})
		r := oncrpc.Request{Procedure: 1, Args: &word{5}, Reply: new(word), MayRepeat: true}
		if err := c.Do(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
		if got := r.Reply.(*word).n; got != 1 || !r.Repeated || n.Load() != 1 {
			t.Errorf("result %d, repeated %v, %d executions; want 1, true, 1", got, r.Repeated, n.Load())
		}
		if got, want := ms.sequence(), []uint32{1, 2}; !slices.Equal(got, want) {
			t.Errorf("sequence numbers %v, want %v", got, want)
		}
		if got := s.Stats().Replayed; got != 1 {
			t.Errorf("%d replayed, want 1", got)
		}
	}
	t.Run("TCP", func(t *testing.T) { test(t, overTCP) })
	t.Run("RDMA", func(t *testing.T) { test(t, overIWARP) })
}

// The reply cache compares callers, but not sequence numbers and verifiers.
func TestFlavorOnce(t *testing.T) {
	var n counter
	ms := &macServer{keys: map[string]string{"alice": "secret", "bob": "secret"}}
	s := newServer(t, macConfig(ms), oncrpc.Procedure{Once: true, Handler: n.handle})
	alice, bob := &macClient{name: "alice", key: "secret"}, &macClient{name: "bob", key: "secret"}
	bob.seq.Store(100)
	near, far := connection(t)
	far.Serve(s)
	for _, tt := range []struct {
		who  *macClient
		arg  uint32
		want uint32
	}{{alice, 1, 1}, {alice, 1, 1}, {bob, 1, 2}, {alice, 2, 3}, {bob, 1, 2}} {
		// all with the same transaction id
		var got word
		if err := oncrpc.NewClient(near, testProgram, testVersion, tt.who).Call(t.Context(), 1, &word{tt.arg}, &got); err != nil || got.n != tt.want {
			t.Errorf("%s, %d: got %d, %v; want %d", tt.who.name, tt.arg, got.n, err, tt.want)
		}
	}
}

// A replayed call is dropped, as RFC 2203 section 5.3.3.1 requires.
func TestFlavorDrops(t *testing.T) {
	ms := &macServer{keys: map[string]string{"alice": "secret"}}
	s := newServer(t, macConfig(ms), oncrpc.Procedure{Handler: echoes})
	var e xdr.Encoder
	h := oncrpc.CallHeader{XID: 0x01020304, RPCVersion: 2, Program: testProgram, Version: testVersion}
	h.EncodeToCred(&e)
	header := e.Message().Inline[:24]
	mc := &macClient{name: "alice", key: "secret"}
	var call xdr.Encoder
	call.Raw(header)
	if _, err := mc.Seal(&call, &xdr.Message{}); err != nil {
		t.Fatal(err)
	}
	if reply := dispatch(t, s, call.Message().Inline); reply == nil {
		t.Error("the call was dropped")
	}
	if reply := dispatch(t, s, call.Message().Inline); reply != nil {
		t.Errorf("the same again was answered with %x", reply)
	}
	// A dropped call is in flight until Drop returns.
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if got := s.Stats(); got.Dropped != 1 || got.InFlight != 0 {
		t.Errorf("stats %+v", got)
	}
}

// A slow flavour delays only its own calls.
func TestFlavorBlocks(t *testing.T) {
	onCarriers(t, func(t *testing.T, over carrier) {
		ms := &macServer{keys: map[string]string{"alice": "secret"}, accepted: make(chan struct{})}
		s := newServer(t, macConfig(ms), oncrpc.Procedure{Handler: echoes})
		conn := connect(t, over(t, s))
		none := oncrpc.NewClient(conn, testProgram, testVersion, oncrpc.AuthNone())
		// from now on there are credits for two calls
		if err := none.Call(t.Context(), 0, nil, nil); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			done <- oncrpc.NewClient(conn, testProgram, testVersion, &macClient{name: "alice", key: "secret"}).Call(t.Context(), 0, nil, nil)
		}()
		<-ms.accepted
		if err := none.Call(t.Context(), 0, nil, nil); err != nil {
			t.Error(err)
		}
		ms.accepted <- struct{}{}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
