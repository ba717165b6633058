package transporttest

import "github.com/rpcrdma/go-rpcrdma/transport"

// FullEndpoint is an endpoint with all optional abilities.
type FullEndpoint interface {
	transport.Endpoint
	transport.SharedReceiver
	transport.Abandoner
	transport.Poller
	transport.ProgressReporter
}

// WithoutSharedReceives returns ep without the ability transport.SharedReceiver, so that its
// receives need memory when they are posted. It has no Unwrap, by which transport.As would find the
// ability.
func WithoutSharedReceives(ep FullEndpoint) transport.Endpoint { return posting{ep, ep, ep, ep} }

type posting struct {
	transport.Endpoint
	transport.Abandoner
	transport.Poller
	transport.ProgressReporter
}
