package oncrpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// A server's interceptor sees how each call ends for its caller, whatever the reason.
func TestServerInterceptor(t *testing.T) {
	var seen []string
	record := func(ctx context.Context, c *oncrpc.Call, next oncrpc.Handler) error {
		err := next(ctx, c)
		seen = append(seen, fmt.Sprintf("%d.%d.%d by %v: %v", c.Program, c.Version, c.Procedure, c.Identity(), oncrpc.OutcomeForCaller(err)))
		return err
	}
	nonBlocking := func(h func(c *oncrpc.Call) error) oncrpc.Procedure {
		return oncrpc.Procedure{NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error { return h(c) }}
	}
	s := newServer(t, oncrpc.ServerConfig{Interceptors: []oncrpc.ServerInterceptor{record}},
		nonBlocking(func(c *oncrpc.Call) error { c.Results.Uint32(c.Args.Uint32()); return nil }),
		nonBlocking(func(c *oncrpc.Call) error { panic("half way") }),
		nonBlocking(func(c *oncrpc.Call) error { c.Results.Fail(xdr.ErrLimit); return nil }),
		nonBlocking(func(c *oncrpc.Call) error { return io.ErrNoProgress }),
		nonBlocking(func(c *oncrpc.Call) error { return &oncrpc.CallError{Err: &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}} }),
		nonBlocking(func(c *oncrpc.Call) error { return oncrpc.ErrDrop }),
	)
	if err := s.Handle(oncrpc.Program{Number: 99, Version: 1, Procedures: []oncrpc.Procedure{{}, {}, nonBlocking(nil)},
		Authorize: func(ctx context.Context, c *oncrpc.Call) (context.Context, error) {
			return nil, &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
		}}); err != nil {
		t.Fatal(err)
	}
	h := func(program, version, procedure uint32, cred oncrpc.Auth, args ...byte) []byte {
		h := oncrpc.CallHeader{XID: 1, RPCVersion: 2, Program: program, Version: version, Procedure: procedure, Cred: cred}
		return append(encodeHeader(&h), args...)
	}
	sys := mustSys(oncrpc.SysCred{UID: 7, GID: 8})
	one := []byte{0, 0, 0, 1}
	for _, tt := range []struct {
		call []byte
		want string
	}{
		{h(testProgram, testVersion, 0, sys), "536870915.3.0 by uid 7, gid 8: <nil>"},
		{h(testProgram, testVersion, 1, sys, one...), "536870915.3.1 by uid 7, gid 8: <nil>"},
		{h(testProgram, testVersion, 1, oncrpc.Auth{}), "536870915.3.1 by anybody: GARBAGE_ARGS"},
		{h(testProgram, testVersion, 2, sys), "536870915.3.2 by uid 7, gid 8: SYSTEM_ERR"},
		{h(testProgram, testVersion, 3, sys), "536870915.3.3 by uid 7, gid 8: SYSTEM_ERR"},
		{h(testProgram, testVersion, 4, sys), "536870915.3.4 by uid 7, gid 8: SYSTEM_ERR"},
		{h(testProgram, testVersion, 5, sys), "536870915.3.5 by uid 7, gid 8: SYSTEM_ERR"},
		{h(testProgram, testVersion, 6, sys), "536870915.3.6 by uid 7, gid 8: call dropped"},
		{h(testProgram, testVersion, 7, sys), "536870915.3.7 by uid 7, gid 8: PROC_UNAVAIL"},
		{h(testProgram, 9, 0, sys), "536870915.9.0 by uid 7, gid 8: PROG_MISMATCH: the server has versions 3 to 3"},
		{h(98, 1, 0, sys), "98.1.0 by uid 7, gid 8: PROG_UNAVAIL"},
		{h(testProgram, testVersion, 0, oncrpc.Auth{Flavor: 6}), "536870915.3.0 by anybody: denied: AUTH_BADCRED"},
		{h(testProgram, testVersion, 0, oncrpc.Auth{Flavor: 1}), "536870915.3.0 by anybody: denied: AUTH_BADCRED"},
		{h(99, 1, 1, sys), "99.1.1 by uid 7, gid 8: PROC_UNAVAIL"},
	} {
		seen = nil
		reply := dispatch(t, s, tt.call)
		if !slices.Equal(seen, []string{tt.want}) {
			t.Errorf("seen %q, want %q", seen, tt.want)
		}
		if dropped := strings.HasSuffix(tt.want, "dropped"); (reply == nil) != dropped {
			t.Errorf("%s: answered with %x", tt.want, reply)
		}
	}
	done := make(chan struct{})
	go func() { // on a worker, because it may block
		defer close(done)
		dispatch(t, s, h(99, 1, 2, sys))
	}()
	<-done
	if want := "99.1.2 by uid 7, gid 8: denied: AUTH_TOOWEAK"; seen[len(seen)-1] != want {
		t.Errorf("seen %q, want %q", seen, want)
	}
	// It does not see a call without a header.
	seen = nil
	if dispatch(t, s, []byte{0, 0, 0, 1}); seen != nil {
		t.Errorf("seen %q of a call of 4 bytes", seen)
	}
}

// Interceptors nest in the order of the list, and their error is the call's outcome, except for
// refused calls. They may pass the handler another context.
func TestServerInterceptorsAround(t *testing.T) {
	type key struct{}
	var seen []string
	named := func(name string) oncrpc.ServerInterceptor {
		return func(ctx context.Context, c *oncrpc.Call, next oncrpc.Handler) error {
			seen = append(seen, name)
			err := next(context.WithValue(ctx, key{}, name), c)
			seen = append(seen, name)
			if c.Procedure == 2 {
				return &oncrpc.AcceptError{Stat: oncrpc.ProcUnavail}
			}
			if c.Procedure == 3 {
				return nil
			}
			return err
		}
	}
	h := func(ctx context.Context, c *oncrpc.Call) error {
		seen = append(seen, "handler in "+ctx.Value(key{}).(string))
		c.Results.Uint32(5)
		return nil
	}
	p := oncrpc.Procedure{NonBlocking: true, Handler: h}
	s := newServer(t, oncrpc.ServerConfig{Interceptors: []oncrpc.ServerInterceptor{named("a"), named("b")}}, p, p)
	for proc, want := range []string{1: accepted + "00000000 00000005", 2: accepted + "00000003", 3: accepted + "00000000"} {
		if proc == 0 {
			continue
		}
		if got := dispatch(t, s, callBytes(0x01020304, uint32(proc))); !bytes.Equal(got, unhex(t, want)) {
			t.Errorf("procedure %d: got %x, want %s", proc, got, want)
		}
	}
	inside := []string{"a", "b", "handler in b", "b", "a"}
	if want := slices.Concat(inside, inside, []string{"a", "b", "b", "a"}); !slices.Equal(seen, want) {
		t.Errorf("seen %q, want %q", seen, want)
	}
	refused := callBytes(0x01020304, 3)
	refused[15] = 9 // another program
	if got := dispatch(t, s, refused); !bytes.Equal(got, unhex(t, accepted+"00000001")) {
		t.Errorf("a refusal became %x", got)
	}
}

// An interceptor may block unless a non-blocking handler runs: the receiving goroutine continues.
func TestServerInterceptorBlocks(t *testing.T) {
	badCred := oncrpc.CallHeader{XID: 1, RPCVersion: 2, Program: testProgram, Version: testVersion, Cred: oncrpc.Auth{Flavor: 6}}
	malformed := badCred
	malformed.Cred.Flavor = oncrpc.FlavorSys
	otherProgram := callBytes(1, 0)
	otherProgram[15]++
	for name, call := range map[string][]byte{
		"no such flavour":      encodeHeader(&badCred),
		"malformed credential": encodeHeader(&malformed),
		"no such program":      otherProgram,
		"no such procedure":    callBytes(1, 9),
	} {
		synctest.Test(t, func(t *testing.T) {
			may := make(chan struct{})
			s := newServer(t, oncrpc.ServerConfig{Interceptors: []oncrpc.ServerInterceptor{
				func(ctx context.Context, c *oncrpc.Call, next oncrpc.Handler) error {
					<-may
					return next(ctx, c)
				}}})
			in := newIncoming(t, call)
			oncrpc.DispatcherOf(s).Dispatch(in) // returns
			synctest.Wait()
			if in.answers.Load() != 0 {
				t.Errorf("%s: answered while the interceptor blocked", name)
			}
			close(may)
			<-in.reply
		})
	}
}

// If a handler or an interceptor ends its goroutine, the call is answered and counted once.
func TestServerInterceptorGoexit(t *testing.T) {
	for _, proc := range []uint32{1, 2} {
		exit := func(ctx context.Context, c *oncrpc.Call, next oncrpc.Handler) error {
			err := next(ctx, c)
			if c.Procedure == 2 {
				runtime.Goexit()
			}
			return err
		}
		s := newServer(t, oncrpc.ServerConfig{Interceptors: []oncrpc.ServerInterceptor{exit}},
			oncrpc.Procedure{Handler: func(context.Context, *oncrpc.Call) error { runtime.Goexit(); return nil }},
			oncrpc.Procedure{Handler: func(context.Context, *oncrpc.Call) error { return nil }})
		if got := dispatch(t, s, callBytes(0x01020304, proc)); !bytes.Equal(got, unhex(t, accepted+"00000005")) {
			t.Errorf("procedure %d: got %x", proc, got)
		}
		if got := s.Stats(); got.Panics != 1 || got.Errors != 1 {
			t.Errorf("procedure %d: stats %+v", proc, got)
		}
	}
}

// Authorize may block, because its calls run on workers. The handler gets its context. It is not
// asked about procedure 0.
func TestAuthorizeBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		may := make(chan struct{})
		s := newServer(t, oncrpc.ServerConfig{})
		if err := s.Handle(oncrpc.Program{Number: testProgram, Version: 4,
			Authorize: func(ctx context.Context, c *oncrpc.Call) (context.Context, error) {
				<-may
				return context.WithValue(ctx, key{}, c.Identity().String()), nil
			},
			Procedures: []oncrpc.Procedure{{}, {NonBlocking: true, Handler: func(ctx context.Context, c *oncrpc.Call) error {
				c.Results.String(ctx.Value(key{}).(string), 100)
				return nil
			}}}}); err != nil {
			t.Fatal(err)
		}
		call := callBytes(0x01020304, 1)
		call[19] = 4
		in := newIncoming(t, call)
		oncrpc.DispatcherOf(s).Dispatch(in) // returns
		synctest.Wait()
		if in.answers.Load() != 0 {
			t.Error("answered before it was allowed")
		}
		null := callBytes(2, 0)
		null[19] = 4
		if got := dispatch(t, s, null); len(got) != 24 {
			t.Errorf("NULL: %x", got)
		}
		close(may)
		if got, want := <-in.reply, unhex(t, accepted+"00000000 00000007 616e79626f6479 00"); !bytes.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
	})
}

// A log line has numbers in place of missing names.
func TestLogNumbers(t *testing.T) {
	for name, want := range map[string]string{"": "program=400000 procedure=1 ", "things": "program=things procedure=1 "} {
		var log bytes.Buffer
		s := newServer(t, oncrpc.ServerConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err := s.Handle(oncrpc.Program{Name: name, Number: 400000, Version: testVersion, Procedures: []oncrpc.Procedure{
			1: {NonBlocking: true, Handler: func(context.Context, *oncrpc.Call) error { return io.ErrNoProgress }}}}); err != nil {
			t.Fatal(err)
		}
		h := oncrpc.CallHeader{RPCVersion: 2, Program: 400000, Version: testVersion, Procedure: 1}
		dispatch(t, s, encodeHeader(&h))
		if got := log.String(); !strings.Contains(got, want) {
			t.Errorf("log %q, want %q in it", got, want)
		}
	}
}

// A client's interceptors see its calls and how they end.
func TestClientInterceptor(t *testing.T) {
	var seen []string
	named := func(name string) oncrpc.ClientInterceptor {
		return func(ctx context.Context, c *oncrpc.ClientCall, next func(context.Context, *oncrpc.ClientCall) error) error {
			seen = append(seen, name)
			err := next(ctx, c)
			seen = append(seen, fmt.Sprintf("%s: %d.%d.%d flavour %d to %v, xid %08x: %v", name, c.Program, c.Version, c.Procedure,
				c.Flavor, c.Peer, c.XID, err))
			return err
		}
	}
	near, far := connection(t)
	far.Serve(newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{NonBlocking: true, Handler: echoes}))
	c := oncrpc.NewClient(near, testProgram, testVersion, mustAuthSys(oncrpc.SysCred{}), named("a"), named("b"))
	if err := c.Call(t.Context(), 0, nil, nil); err != nil {
		t.Error(err)
	}
	const what = "536870915.3.%d flavour 1 to server, xid 1badcafe: %s"
	if want := []string{"a", "b", "b: " + fmt.Sprintf(what, 0, "<nil>"), "a: " + fmt.Sprintf(what, 0, "<nil>")}; !slices.Equal(seen, want) {
		t.Errorf("seen %q, want %q", seen, want)
	}
	seen = nil
	err := c.Call(t.Context(), 9, nil, nil)
	var call *oncrpc.CallError
	var accept *oncrpc.AcceptError
	if !errors.As(err, &call) || !errors.As(err, &accept) {
		t.Errorf("got %v", err)
	}
	if want := "b: " + fmt.Sprintf(what, 9, "PROC_UNAVAIL"); len(seen) != 4 || seen[2] != want {
		t.Errorf("seen %q, want %q", seen, want)
	}
}
