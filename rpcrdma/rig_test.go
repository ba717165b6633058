package rpcrdma_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// rig is a server of the test program, which runs until the end of the test. Its clients are real
// (dial) or played by hand (raw).
type rig struct {
	t       testing.TB
	fabric  *loopback.Fabric // nil with other providers
	dialer  transport.Dialer
	addr    string
	program *program
	server  *oncrpc.Server
	served  chan error
	started chan struct{} // on a device: the server has started an end
	cfg     rpcrdma.Config
	ledgers ledgers // of the server's connections
	hosts   hosts   // the hosts from which connections seem to come
}

const rigAddr = "server"

// newRig serves on a new fabric.
func newRig(t testing.TB, cfg rpcrdma.Config) *rig {
	return newRigOn(t, cfg, loopback.Config{}, sameEndpoint)
}

// newRigOn is newRig with a configuration of the listener, and with wrap around the server's
// endpoints.
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

// delayed is a Listener that calls wait when a request has been accepted, before it says so.
type delayed struct {
	transport.Listener
	wait func()
}

func (l delayed) Accept(ctx context.Context) (transport.Request, error) {
	req, err := l.Listener.Accept(ctx)
	return delayedRequest{req, l.wait}, err
}

type delayedRequest struct {
	transport.Request
	wait func()
}

func (r delayedRequest) Accept(ctx context.Context, prepare transport.Preparation) (
	transport.Endpoint, error) {
	ep, err := r.Request.Accept(ctx, prepare)
	r.wait()
	return ep, err
}

// serveRig is newRig on any provider.
func serveRig(t testing.TB, cfg rpcrdma.Config, l transport.Listener, d transport.Dialer,
	wrap endpointWrapper) *rig {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	if cfg.Counters == nil {
		cfg.Counters = new(rpcrdma.Counters) // by which ReceiveMemory and others find the Serve
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
	if asDevice {
		l, _ = transporttest.Device(l, nil)
		r.started = make(chan struct{}, 1<<10)
		l = transport.WrapListener(l, func(ep transport.Endpoint) transport.Endpoint {
			return startNoted{ep, r.started}
		})
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

// startNoted is an endpoint that says when it has been started.
type startNoted struct {
	transport.Endpoint
	started chan<- struct{}
}

func (e startNoted) Start(h transport.MessageHandler) {
	e.Endpoint.Start(h)
	e.started <- struct{}{}
}

// awaitStart waits until the server has started its end of a new connection, if it is on a device.
// That takes messages before, until its first receives are used up.
func (r *rig) awaitStart() {
	r.t.Helper()
	if r.started != nil {
		wait(r.t, r.started)
	}
}

// dial connects a client.
func (r *rig) dial(cfg rpcrdma.Config) *rpcrdma.Conn {
	r.t.Helper()
	return r.dialOn(cfg, guardAny)
}

// dialOn is dial with wrap around the client's endpoint.
func (r *rig) dialOn(cfg rpcrdma.Config, wrap endpointWrapper) *rpcrdma.Conn {
	r.t.Helper()
	c, err := r.tryDial(cfg, wrap)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// tryDial is dialOn that may fail.
func (r *rig) tryDial(cfg rpcrdma.Config, wrap endpointWrapper) (*rpcrdma.Conn, error) {
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	c, err := rpcrdma.Dial(context.Background(), wrapDialer(r.dialer, wrap), r.addr, cfg)
	if err == nil {
		r.t.Cleanup(func() { c.Close() })
		r.awaitStart()
	}
	return c, err
}

// wrapDialer returns d with wrap around its endpoints, or as a device of such.
func wrapDialer(d transport.Dialer, wrap endpointWrapper) transport.Dialer {
	d = transport.WrapDialer(d, wrap)
	if asDevice {
		_, d = transporttest.Device(nil, d)
	}
	return d
}

// raw connects a client that is played by hand.
func (r *rig) raw(p privateData) *rawPeer {
	r.t.Helper()
	return newRawPeer(r.t, r.endpoint(p))
}

// endpoint connects a client that is played by hand, and does not start it.
func (r *rig) endpoint(p privateData) transport.Endpoint {
	r.t.Helper()
	ep, err := r.dialer.Dial(context.Background(), r.addr, transport.Private(p.bytes()))
	if err != nil {
		r.t.Fatal(err)
	}
	r.awaitStart()
	return ep
}

func client(c oncrpc.Transport) *oncrpc.Client {
	return oncrpc.NewClient(c, testProgram, 1, oncrpc.AuthNone())
}
