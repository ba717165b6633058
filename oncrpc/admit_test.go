package oncrpc_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Admit is called for each connection, over either transport, ConnBegan and ConnEnded for each one
// served, and release once for each one admitted.
func TestAdmit(t *testing.T) {
	onCarriers(t, func(t *testing.T, over carrier) {
		refuse := atomic.Bool{}
		asked, released := make(chan oncrpc.ConnInfo, 10), make(chan struct{}, 10)
		began, ended := make(chan oncrpc.Transport, 10), make(chan error, 10)
		s := newServer(t, oncrpc.ServerConfig{
			Admit: func(c oncrpc.ConnInfo) (func(), error) {
				asked <- c
				if refuse.Load() {
					return nil, errors.New("not you")
				}
				return func() { released <- struct{}{} }, nil
			},
			ConnBegan: func(c oncrpc.Transport) { began <- c },
			ConnEnded: func(c oncrpc.Transport, err error) { ended <- err },
		})
		dial := over(t, s)
		c, err := dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := oncrpc.NewClient(c, testProgram, testVersion, nil).Call(t.Context(), 0, nil, nil); err != nil {
			t.Fatal(err)
		}
		info, conn := <-asked, <-began
		if info.Provider == "" || info.Local.String() != c.RemoteAddr().String() || info.Remote.String() != conn.RemoteAddr().String() {
			t.Errorf("asked about %+v; the connection is from %v to %v", info, conn.RemoteAddr(), conn.LocalAddr())
		}
		if len(released) > 0 || len(ended) > 0 {
			t.Error("released while it is open")
		}
		c.Close()
		<-c.Done()
		<-released
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("ended with %v", err)
		}

		refuse.Store(true)
		if c, err := dial(t.Context()); err == nil { // a TCP connection exists by then
			if err := oncrpc.NewClient(c, testProgram, testVersion, nil).Call(t.Context(), 0, nil, nil); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a call over a connection that was refused: %v", err)
			}
			<-c.Done()
		}
		<-asked
		if got := s.Stats(); got.Conns != 0 || got.Calls != 1 {
			t.Errorf("stats %+v", got)
		}
		if len(began)+len(released)+len(ended) > 0 {
			t.Error("a refused connection is told of, or released")
		}
	})
}

// Connections of a host that has many are refused, and those of a new host accepted, over either
// transport.
func TestMaxConns(t *testing.T) {
	for name, listen := range map[string]func(*testing.T, *oncrpc.Server) func(host int) (oncrpc.Transport, error){
		"TCP": hostsOverTCP, "RDMA": hostsOverRDMA,
	} {
		t.Run(name, func(t *testing.T) {
			released := make(chan struct{}, 100)
			s := newServer(t, oncrpc.ServerConfig{
				MaxConns: 6, Logger: quiet,
				Admit: func(oncrpc.ConnInfo) (func(), error) {
					return func() { released <- struct{}{} }, nil
				},
			})
			dial := listen(t, s)
			refused := 0
			connect := func(host int, want bool) oncrpc.Transport {
				t.Helper()
				c, err := dial(host)
				if err == nil { // a TCP connection exists by then
					t.Cleanup(func() { c.Close() })
					err = oncrpc.NewClient(c, testProgram, testVersion, nil).Call(t.Context(), 0, nil, nil)
				}
				if (err == nil) != want {
					t.Errorf("host %d: %v", host, err)
				}
				if err != nil {
					<-released
					refused++
				}
				return c
			}
			first := connect(0, true)
			connect(0, true)
			connect(0, true)
			connect(0, false) // three are left for others
			connect(1, true)
			connect(1, false) // two are left
			connect(2, true)
			connect(3, true)
			connect(4, false)
			if got := s.Stats(); got.TooMany != uint64(refused) || got.Refused != 0 || got.Conns != 6 {
				t.Errorf("stats %+v, want 6 connections and %d that were too many", got, refused)
			}
			first.Close()
			<-released
			connect(0, false) // it has two, and one is left
			connect(4, true)
		})
	}
}

func hostsOverTCP(t *testing.T, s *oncrpc.Server) func(int) (oncrpc.Transport, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := recordmark.Config{Logger: quiet}
	serves(t, s, func() error { return recordmark.Serve(context.Background(), l, s, cfg) })
	return func(host int) (oncrpc.Transport, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+host))}}
		conn, err := d.Dial("tcp", l.Addr().String())
		if err != nil {
			return nil, err
		}
		return recordmark.NewConn(conn, cfg)
	}
}

func hostsOverRDMA(t *testing.T, s *oncrpc.Server) func(int) (oncrpc.Transport, error) {
	f := loopback.New()
	l, err := f.Listen("server", loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := rpcrdma.Config{Logger: quiet}
	serves(t, s, func() error { return rpcrdma.Serve(context.Background(), l, s, cfg) })
	hosts := make(map[int]transport.Dialer)
	return func(host int) (oncrpc.Transport, error) {
		if hosts[host] == nil {
			hosts[host] = f.Dialer(loopback.Config{})
		}
		return rpcrdma.Dial(t.Context(), hosts[host], "server", cfg)
	}
}

// Both Serve functions end with the same error in the same situation.
func TestServeEnds(t *testing.T) {
	type listening struct {
		serve func(ctx context.Context, s *oncrpc.Server) error
		close func() error
	}
	listen := map[string]func() listening{
		"TCP": func() listening {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			return listening{func(ctx context.Context, s *oncrpc.Server) error {
				return recordmark.Serve(ctx, l, s, recordmark.Config{Logger: quiet})
			}, l.Close}
		},
		"RDMA": func() listening {
			l, err := loopback.New().Listen("server", loopback.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return listening{func(ctx context.Context, s *oncrpc.Server) error {
				return rpcrdma.Serve(ctx, l, s, rpcrdma.Config{Logger: quiet})
			}, l.Close}
		},
	}
	for name, l := range listen {
		for _, tt := range []struct {
			name string
			end  func(s *oncrpc.Server, cancel func(), l listening)
			want error
			op   string // of an OpError
		}{
			{"Shutdown", func(s *oncrpc.Server, _ func(), _ listening) { s.Shutdown(context.Background()) }, oncrpc.ErrServerClosed, ""},
			{"Close", func(s *oncrpc.Server, _ func(), _ listening) { s.Close() }, oncrpc.ErrServerClosed, ""},
			{"context", func(_ *oncrpc.Server, cancel func(), _ listening) { cancel() }, context.Canceled, "serve"},
			{"listener", func(_ *oncrpc.Server, _ func(), l listening) { l.close() }, net.ErrClosed, "accept"},
		} {
			for _, before := range []bool{false, true} {
				s := newServer(t, oncrpc.ServerConfig{})
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				l, done := l(), make(chan error, 1)
				if before {
					tt.end(s, cancel, l)
				}
				go func() { done <- l.serve(ctx, s) }()
				if !before {
					tt.end(s, cancel, l)
				}
				err := <-done
				op := ""
				if e, ok := errors.AsType[*recordmark.OpError](err); ok {
					op = e.Op
				} else if e, ok := errors.AsType[*rpcrdma.OpError](err); ok {
					op = e.Op
				}
				if !errors.Is(err, tt.want) || op != tt.op || op == "" && err != tt.want {
					t.Errorf("%s, %s, before %v: got %v, operation %q; want %v, %q", name, tt.name, before, err, op, tt.want, tt.op)
				}
			}
		}
	}
}

// The zero Server serves. The zero Client panics with a helpful message.
func TestZero(t *testing.T) {
	var s, unused oncrpc.Server
	if got := unused.Stats(); got != (oncrpc.ServerStats{}) || unused.Closed() {
		t.Errorf("stats %+v", got)
	}
	if err := unused.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Handle(oncrpc.Program{Number: testProgram, Version: testVersion}); err != nil {
		t.Fatal(err)
	}
	if got := dispatch(t, &s, callBytes(0x01020304, 0)); !bytes.Equal(got, unhex(t, accepted+"00000000")) {
		t.Errorf("got %x", got)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	defer func() {
		if p, ok := recover().(string); !ok || p != "oncrpc: Client without a transport: NewClient makes one" {
			t.Errorf("a zero Client panics with %v", p)
		}
	}()
	new(oncrpc.Client).Call(t.Context(), 0, nil, nil)
}

// slots is a ReplayPolicy like the sessions of NFS version 4.1. A call's first argument is the
// number of a slot, the second that of a request in it.
type slots struct {
	at      map[uint32]*slot
	failed  int
	waiting []*oncrpc.OnceCall
}

type slot struct {
	request uint32
	busy    bool
	results []byte
}

func (s *slots) Arrive(a *oncrpc.OnceCall) bool {
	args := *a.Args
	number, request := args.Uint32(), args.Uint32()
	at := s.at[number]
	switch {
	case at == nil:
		at = &slot{}
		s.at[number] = at
		fallthrough
	case request == at.request+1:
		at.request, at.busy = request, true
		a.State = at
		return true
	case at.busy:
		s.waiting = append(s.waiting, a)
	case request == at.request:
		a.Answer(at.results)
	default:
		a.Drop()
	}
	return false
}

func (s *slots) Executed(a *oncrpc.OnceCall, results *xdr.Message) {
	at := a.State.(*slot)
	at.busy, at.results = false, results.AppendTo(nil)
	s.end(at)
}

func (s *slots) Failed(a *oncrpc.OnceCall) {
	at, ok := a.State.(*slot)
	if !ok {
		return
	}
	s.failed++
	at.busy = false
	at.request--
	for i, w := range s.waiting {
		s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
		w.State = at
		at.busy, at.request = true, at.request+1
		w.Execute()
		return
	}
}

func (s *slots) end(at *slot) {
	for _, w := range s.waiting {
		w.Answer(at.results)
	}
	s.waiting = nil
}

// A program's own policy replaces the reply cache.
func TestReplay(t *testing.T) {
	policy := &slots{at: make(map[uint32]*slot)}
	var n counter
	started, open := make(chan struct{}), make(chan error)
	s := newServer(t, oncrpc.ServerConfig{ReplyMemory: -1})
	handle := func(ctx context.Context, c *oncrpc.Call) error {
		c.Args.Uint64()
		started <- struct{}{}
		if err := <-open; err != nil {
			return err
		}
		c.Results.BulkBytes([]byte("data"), nil)
		return n.handle(ctx, c)
	}
	if err := s.Handle(oncrpc.Program{Number: testProgram, Version: 4, Replay: policy, Procedures: []oncrpc.Procedure{{}, {Handler: handle, Once: true}}}); err != nil {
		t.Fatal(err)
	}
	call := func(xid, slot, request uint32) *incoming {
		m := callBytes(xid, 1, slot, request)
		m[19] = 4
		in := newIncoming(t, m)
		oncrpc.DispatcherOf(s).Dispatch(in)
		return in
	}
	results := "00000000 00000004 64617461 "
	is := func(in *incoming, want string) {
		t.Helper()
		if got := <-in.reply; !bytes.Equal(got, unhex(t, want)) {
			t.Errorf("got %x, want %s", got, want)
		}
	}
	const head = "00000000 00000000 00000000 "
	first := call(1, 7, 1)
	<-started
	waits := call(2, 7, 1)
	open <- errors.New("not now") // so the other one is executed
	is(first, "00000001 00000001 "+head+"00000005")
	<-started
	again := call(3, 7, 1)
	open <- nil
	is(waits, "00000002 00000001 "+head+results+"00000001")
	is(again, "00000003 00000001 "+head+results+"00000001")
	is(call(4, 7, 1), "00000004 00000001 "+head+results+"00000001")
	if got := <-call(5, 7, 9).reply; got != nil {
		t.Errorf("out of order: %x", got)
	}
	next := call(6, 7, 2)
	<-started
	open <- nil
	is(next, "00000006 00000001 "+head+results+"00000002")
	if got, want := s.Stats(), (oncrpc.ServerStats{Calls: 6, Errors: 1, Dropped: 1, Replayed: 2}); got != want || policy.failed != 1 {
		t.Errorf("stats %+v, %d failed; want %+v, 1", got, policy.failed, want)
	}
}

// The host does not depend on the port.
func TestConnInfoHost(t *testing.T) {
	for remote, want := range map[net.Addr]string{
		&net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 700}:            "192.0.2.7",
		&net.TCPAddr{IP: net.ParseIP("::ffff:192.0.2.7"), Port: 20049}: "192.0.2.7",
		&net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 1}:          "2001:db8::1",
		loopback.Addr("dialer#3:1"):                                    "dialer#3",
	} {
		if got := (oncrpc.ConnInfo{Remote: remote}).Host(); got != want {
			t.Errorf("%v: got %q, want %q", remote, got, want)
		}
	}
}

// If Authorize returns no context, the handler gets the one that Authorize got.
func TestAuthorizeNoContext(t *testing.T) {
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	p := oncrpc.Program{Number: testProgram, Version: testVersion,
		Authorize: func(context.Context, *oncrpc.Call) (context.Context, error) { return nil, nil },
		Procedures: []oncrpc.Procedure{1: {Handler: func(ctx context.Context, c *oncrpc.Call) error {
			if ctx == nil {
				t.Error("no context")
			}
			return nil
		}}}}
	if err := s.Handle(p); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client, server := connection(t)
	server.Serve(s)
	if err := oncrpc.NewClient(client, testProgram, testVersion, nil).Call(t.Context(), 1, nil, nil); err != nil {
		t.Error(err)
	}
}
