package oncrpc

import (
	"net"
	"sync/atomic"
	"unique"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// Origin says where the calls of a connection come from. Dispatcher.For makes one for each
// connection. Shares of hosts and the reply cache go by it, and so do rules about ports.
type Origin struct {
	host      hostID
	port      uint16 // 0 if nothing vouches for it
	principal string
	number    uint64 // orders the connections of a server by age

	received atomic.Uint64 // calls that were dispatched
	credits  atomic.Uint64 // the most that the peer was granted; 0: the transport has no credits
}

// hostID is a host in one word. The zero value stands for all peers without a known host.
type hostID = unique.Handle[peerhost.Host]

// newOrigin returns the origin of a peer's calls.
func newOrigin(peer net.Addr, number uint64) *Origin {
	o := &Origin{host: unique.Make(peerhost.Of(peer)), number: number}
	if tcp, ok := peer.(*net.TCPAddr); ok && tcp != nil {
		o.port = uint16(tcp.Port)
	}
	return o
}

// Port returns the peer's TCP port, for which the kernels of both hosts vouch: Unix gives ports
// below 1024 to privileged processes alone. Over other protocols a port is a number in a message,
// which any process may choose, and Port returns 0.
func (o *Origin) Port() uint16 { return o.port }

// Principal returns the name that the peer has proved for the whole connection, or "": the subject
// of the certificate of a TLS client.
func (o *Origin) Principal() string { return o.principal }

// keyPort returns the port as the reply cache uses it. Over a transport with credits, which are
// those of RDMA, clients come back from any port, and it is 0.
func (o *Origin) keyPort() uint16 {
	if o.credits.Load() > 0 {
		return 0
	}
	return o.port
}

// granted notes a grant of n credits.
func (o *Origin) granted(n uint32) {
	for most := o.credits.Load(); uint64(n) > most; most = o.credits.Load() {
		if o.credits.CompareAndSwap(most, uint64(n)) {
			return
		}
	}
}

// tookReply reports whether the peer is known to have got a reply that left when the peer had made
// calls calls; 0 stands for a reply that may not have left. Calls and replies cross, so only
// credits prove it: a peer that may have n calls under way and has made calls+n has got calls
// replies. Replies arrive in the order in which they leave, so this one is among them.
func (o *Origin) tookReply(calls uint64) bool {
	return calls > 0 && o.received.Load()-calls >= o.credits.Load()
}
