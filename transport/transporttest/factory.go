package transporttest

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Options are the limits that a subtest wants both ends to have. Zero leaves a limit to the
// provider. A negative one asks for a limit of 0: for no RDMA Reads, say.
type Options struct {
	IRD, ORD             int
	SendDepth, RecvDepth int
}

// Factory makes the provider that is tested.
type Factory struct {
	// New returns a listener, with the address under which the dialer reaches it.
	// The suite closes the listener and what it dials and accepts; what else there is
	// to release New registers with tb.Cleanup.
	New func(tb testing.TB, o Options) (l transport.Listener, d transport.Dialer, addr string)

	// UnusedAddr is an address where nobody listens. Without one the suite uses that of
	// a listener which it has closed. Where addresses are of the whole machine, another
	// process may be given that meanwhile.
	UnusedAddr string

	// DialerFirst says that the listening end may send nothing before the dialing end has (the
	// client-server model of RFC 5044 section 7.1). The suite then begins each connection with a
	// Write of no bytes.
	DialerFirst bool

	// Relayed says that connections lead through a relay, so that each end sees an address of that
	// and not of the other end.
	Relayed bool

	// PeerMustStart says that the setup of a connection may end only once both ends have been
	// started, and that until then no request completes, not even a local invalidation.
	PeerMustStart bool

	// SilentSetup says that nothing is exchanged before a connection is there: it has no private
	// data, cannot be refused, and Dial does not wait for Accept.
	SilentSetup bool

	// ReportsCauses says that both ends learn why an operation was refused: ErrSTag, ErrBounds
	// or ErrAccess. The suite then expects that, and otherwise ErrRemoteAccess alone.
	ReportsCauses bool
}

// pairTest is a subtest of one connection, and of others next to it where it makes
// them. In it p.a is the active end.
type pairTest struct {
	name    string
	options Options
	run     func(p *pair)
}

// Run tests a provider.
func Run(t *testing.T, f Factory) {
	for _, tt := range setupTests {
		if tt.asks && f.SilentSetup {
			continue
		}
		t.Run("setup/"+tt.name, func(t *testing.T) {
			tt.run(newRig(t, f, Options{}))
		})
	}
	for _, tests := range [][]pairTest{
		messageTests, orderTests, readTests, listTests, zeroTests,
		refusalTests(), invalidateTests, localTests, abandonTests,
		queueTests, sharedTests, closeTests, callbackTests, concurrencyTests, memoryTests,
		regionTests, progressTests,
	} {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				t.Run("dialer", func(t *testing.T) {
					tt.run(newRig(t, f, tt.options).connect())
				})
				t.Run("listener", func(t *testing.T) {
					p := newRig(t, f, tt.options).connect()
					p.a, p.b = p.b, p.a
					tt.run(p)
				})
			})
		}
	}
}
