package rpcrdma_test

import (
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// newWireRig returns a rig whose server is reached over iWARP, and what connects a peer that speaks by hand.
func newWireRig(t testing.TB, cfg rpcrdma.Config) (r *rig, dial func() *rawPeer) {
	t.Helper()
	wire := iwarp.Config{Logger: quiet}
	l, err := iwarp.Listen(t.Context(), net.JoinHostPort("127.0.0.1", "0"), wire)
	if err != nil {
		t.Fatal(err)
	}
	r = newRigOn(t, cfg, loopback.Config{}, func(other transport.Listener) transport.Listener {
		other.Close()
		return l
	})
	return r, func() *rawPeer {
		t.Helper()
		ep, err := iwarp.Dialer{Config: wire}.Dial(t.Context(), l.Addr().String(), inline4k.bytes())
		if err != nil {
			t.Fatal(err)
		}
		return newRawPeer(t, ep)
	}
}
