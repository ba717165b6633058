package rpcrdma_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
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

// raw connects a client that is played by hand.
func (r *rig) raw(p privateData) *rawPeer {
	r.t.Helper()
	return newRawPeer(r.t, r.endpoint(p))
}

// endpoint connects a client that is played by hand, and does not start it.
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
