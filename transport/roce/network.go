package roce

import (
	"context"
	"net/netip"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
)

// socket carries datagrams to and from UDP port 4791 at one local address.
type socket interface {
	// receive waits for datagrams from one peer, and puts them into b one behind the other. Each
	// has size bytes; the last may have fewer. It reports whether they carried a congestion mark.
	receive(b []byte) (n, size int, from netip.AddrPort, marked bool, err error)

	// send sends messages from the first on. It returns how many are done: sent, or lost as on the
	// way. Without wait, it stops when it would block.
	send(all []message, wait bool) (n int)

	// segments reports whether a message may consist of several datagrams.
	segments() bool
	close()
}

// network is where devices are opened. Tests use networks in memory.
type network struct {
	// open returns a socket, and the largest path MTU for the interface with the local address.
	open func(netip.Addr) (socket, int, error)
	// route returns the local address for reaching a peer, and the path MTU.
	route func(netip.Addr) (netip.Addr, int, error)
	// portClosed waits until the host of an address reports that UDP port 4791 is closed there. It
	// returns false when ctx has ended.
	portClosed func(ctx context.Context, local, peer netip.Addr) bool
	// local returns the addresses of this host.
	local func() ([]netip.Addr, error)

	// processors are shared among the hosts that send; nil: not shared.
	processors *fair.Processors

	mu      sync.Mutex // guards devices
	devices map[netip.Addr]*device

	choosing sync.Mutex // held before mu; guards loopback
	loopback netip.Addr // see acquireOwn
}

// system is the network of this host.
var system = &network{
	open: openSocket, route: route, portClosed: portClosed, local: localAddrs,
	processors: fair.ThisProcess,
}

// acquire returns the device of a local address, opening it if needed. Each must be released. The
// Counters of the cfg that opened it count the packets that belong to no connection.
func (n *network) acquire(local netip.Addr, cfg *Config) (*device, error) {
	for {
		n.mu.Lock()
		d := n.devices[local]
		if d == nil {
			defer n.mu.Unlock()
			sock, mtu, err := n.open(local)
			if err != nil {
				return nil, err
			}
			d = newDevice(n, local, sock, mtu, cfg)
			if n.devices == nil {
				n.devices = make(map[netip.Addr]*device)
			}
			n.devices[local] = d
			return d, nil
		}
		if d.users > 0 {
			d.users++
			n.mu.Unlock()
			return d, nil
		}
		n.mu.Unlock()
		<-d.closed // its port is about to be free
	}
}

// retain is acquire for an existing device. It reports false if nobody uses the device any more.
func (d *device) retain() bool {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	if d.users == 0 {
		return false
	}
	d.users++
	return true
}

// release ends a use of a device. The last one closes it.
func (d *device) release() {
	d.network.mu.Lock()
	d.users--
	last := d.users == 0
	d.network.mu.Unlock()
	if !last {
		return
	}
	go func() {
		d.close()
		d.network.mu.Lock()
		delete(d.network.devices, d.local.Addr())
		d.network.mu.Unlock()
		close(d.closed)
	}()
}
