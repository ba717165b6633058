package transporttest

import (
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Options are the limits that a subtest wants for both ends. 0 leaves a limit to the provider. A
// negative value asks for a limit of 0, such as no RDMA Reads.
type Options struct {
	IRD, ORD             int
	SendDepth, RecvDepth int
}

// Factory describes the provider to test.
type Factory struct {
	// New returns a listener and a dialer, and the address by which the dialer reaches the
	// listener. The suite closes the listener and all connections. For anything else to release,
	// New calls tb.Cleanup.
	New func(tb testing.TB, o Options) (l transport.Listener, d transport.Dialer, addr string)

	// UnusedAddr is an address where nothing listens. If it is empty, the suite uses the address of
	// a listener that it has closed. Another process on the machine may get that address meanwhile.
	UnusedAddr string

	// DialerFirst says that the listening end may send only after the dialing end has (the
	// client-server model of RFC 5044 section 7.1). The suite then begins each connection with a
	// Write of zero bytes.
	DialerFirst bool

	// Relayed says that connections pass through a relay, so that each end sees the relay's address
	// as its peer.
	Relayed bool

	// PeerMustStart says that connection setup may end only after both ends have been started.
	// Until then no request completes, not even a local invalidation.
	PeerMustStart bool

	// SilentSetup says that connection setup exchanges nothing: there is no private data, a request
	// cannot be refused, and Dial does not wait for Accept.
	SilentSetup bool

	// ReportsCauses says that both ends learn exactly why an operation was refused: ErrSTag,
	// ErrBounds or ErrAccess. Otherwise the suite expects only ErrRemoteAccess.
	ReportsCauses bool

	// MayNotKnow says that an end may not learn why an operation was refused, as with adapters.
	// Then its Err says ErrClosedByPeer, or the reason.
	MayNotKnow bool

	// ServesUnstarted says that before its own Start an end serves the peer's RDMA Reads and
	// Writes, or takes messages into receives. So receives must be posted in a
	// transport.Preparation.
	ServesUnstarted bool

	// NoSolicited says that an end cannot tell which messages were sent with transport.Solicited.
	NoSolicited bool

	// Bubble runs each subtest in a bubble of testing/synctest, where waiting for a timer costs
	// nothing. The network below the provider must be in memory too.
	Bubble bool
}

// subtest runs a subtest of t.
func (f *Factory) subtest(t *testing.T, name string, run func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		if f.Bubble {
			synctest.Test(t, run)
			return
		}
		run(t)
	})
}

// pairTest is a subtest that gets one connection, and may make others. Its active end is p.a.
type pairTest struct {
	name    string
	options Options
	run     func(p *pair)
}

// Run runs the suite for a provider.
func Run(t *testing.T, f Factory) {
	for _, tt := range setupTests {
		if tt.asks && f.SilentSetup {
			continue
		}
		f.subtest(t, "setup/"+tt.name, func(t *testing.T) {
			tt.run(newRig(t, f, Options{}))
		})
	}
	for _, tests := range [][]pairTest{
		prepareTests, messageTests, orderTests, readTests, listTests, zeroTests,
		refusalTests(), invalidateTests, localTests, abandonTests,
		queueTests, sharedTests, closeTests, callbackTests, goexitTests, concurrencyTests,
		memoryTests, regionTests, progressTests,
	} {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				f.subtest(t, "dialer", func(t *testing.T) {
					tt.run(newRig(t, f, tt.options).connect())
				})
				f.subtest(t, "listener", func(t *testing.T) {
					p := newRig(t, f, tt.options).connect()
					p.a, p.b = p.b, p.a
					tt.run(p)
				})
			})
		}
	}
}
