package roce

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Dialer connects to RoCE peers. The zero value is ready for use.
type Dialer struct {
	Config Config
}

var _ transport.Dialer = Dialer{}

// MaxPrivateData is 56: what rdma_cm leaves of a ConnectRequest's 92 bytes (IBTA annex A11).
func (Dialer) MaxPrivateData() int { return 56 }

// Dial connects to addr, "host:port".
func (d Dialer) Dial(ctx context.Context, addr string, private []byte) (transport.Endpoint, error) {
	return nil, opError("dial", nil, errors.ErrUnsupported)
}
