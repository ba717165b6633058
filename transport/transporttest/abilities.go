package transporttest

import "github.com/rpcrdma/go-rpcrdma/transport"

// FullEndpoint is an endpoint with all that a provider may offer beside what it must.
type FullEndpoint interface {
	transport.Endpoint
	transport.SharedReceiver
	transport.Abandoner
	transport.Poller
	transport.ProgressReporter
}

// WithoutSharedReceives returns ep as one that is no transport.SharedReceiver: its receives have
// their memory when they are posted. It has no Unwrap, by which one would be found.
func WithoutSharedReceives(ep FullEndpoint) transport.Endpoint { return posting{ep, ep, ep, ep} }

type posting struct {
	transport.Endpoint
	transport.Abandoner
	transport.Poller
	transport.ProgressReporter
}
