package roce_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// TestDialUnprepared: a Dial that fails to prepare sends nothing.
func TestDialUnprepared(t *testing.T) {
	r := newRig(t, roce.Config{})
	d := roce.Dialer{Config: r.cfg}
	unprepared := errors.New("not prepared")
	fails := func(transport.Endpoint) ([]byte, error) { return nil, unprepared }
	for want, prepare := range map[error]transport.Preparation{
		unprepared:               fails,
		transport.ErrPrivateData: transport.Private(make([]byte, d.MaxPrivateData()+1)),
	} {
		p := r.host()
		ep, err := d.Dial(t.Context(), p.ip.String()+":1", prepare)
		if ep != nil || !errors.Is(err, want) {
			t.Errorf("got %v, %v, want %v", ep, err, want)
		}
		p.silent()
	}
}
