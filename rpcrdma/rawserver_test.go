package rpcrdma_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// privateData is the private data of a peer that is played by hand (RFC 8797 section 4). The zero
// value is none.
type privateData struct {
	Invalidate bool
	Send, Recv int // bytes
}

// bytes encodes the private data.
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

// rawServer connects a client to a server that is played by hand, on a fabric of their own. It
// returns both.
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

// unstartedServer is rawServer with a server that is not started.
func unstartedServer(t testing.TB) (*rpcrdma.Conn, transport.Endpoint) {
	t.Helper()
	c, ep, _ := acceptRaw(t, rpcrdma.Config{}, inline4k, sameEndpoint)
	return c, ep
}

// acceptRaw returns a client, its server's endpoint, and the ledger of the client's endpoint.
func acceptRaw(t testing.TB, cfg rpcrdma.Config, p privateData,
	wrap endpointWrapper) (*rpcrdma.Conn, transport.Endpoint, *ledger) {
	t.Helper()
	l, d := providers["loopback"](t)
	defer l.Close()
	eps := make(chan transport.Endpoint, 1)
	go func() {
		req, err := l.Accept(context.Background())
		if err == nil {
			var ep transport.Endpoint
			ep, err = req.Accept(context.Background(), transport.Private(p.bytes()))
			eps <- ep
		}
		if err != nil {
			t.Error(err)
		}
	}()
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	var made ledgers
	d = wrapDialer(transport.WrapDialer(d, made.wrap), wrap)
	c, err := rpcrdma.Dial(context.Background(), d, rigAddr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, wait(t, eps), made.of(t, c)
}
