package rpcrdma_test

import (
	"net"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// hosts makes the peers of a server come from one host, as the provider reports, or each from its
// own.
type hosts struct {
	apart atomic.Bool // new connections come from separate hosts
}

func (h *hosts) wrap(ep transport.Endpoint) transport.Endpoint {
	if !h.apart.Load() {
		return ep
	}
	if full, ok := ep.(transporttest.FullEndpoint); ok {
		return ownHostFull{full}
	}
	return ownHost{ep}
}

// ownHost is an endpoint whose peer is on a separate host.
type ownHost struct{ transport.Endpoint }

func (e ownHost) Info() transport.Info { return ownHostInfo(e.Endpoint) }

// ownHostFull is ownHost with all that an endpoint can do.
type ownHostFull struct{ transporttest.FullEndpoint }

func (e ownHostFull) Info() transport.Info { return ownHostInfo(e.FullEndpoint) }

func ownHostInfo(ep transport.Endpoint) transport.Info {
	info := ep.Info()
	info.RemoteAddr = ownHostAddr{info.RemoteAddr}
	return info
}

// ownHostAddr is an address that stands for a host of its own.
type ownHostAddr struct{ net.Addr }

// Host is for package peerhost.
func (a ownHostAddr) Host() string { return a.String() }
