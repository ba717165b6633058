package oncrpc_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// repeater is a transport that pretends to send calls a given number of times, and records their
// fields.
type repeater struct {
	canned
	again bool
	asked []bool // values of Exchange.MayRepeat
	xids  []uint32
	were  []bool // values of Exchange.Repeated before RoundTrip
}

func (r *repeater) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	r.asked, r.xids, r.were = append(r.asked, x.MayRepeat), append(r.xids, x.XID), append(r.were, x.Repeated)
	x.XID = 7
	x.Repeated = r.again
	return r.canned.RoundTrip(ctx, x)
}

// MayRepeat reaches the transport, Repeated reaches the request, and neither carries over to the
// next call.
func TestClientRepeat(t *testing.T) {
	tests := []struct {
		name   string
		repeat bool
		again  bool
		err    error
	}{
		{"not to be repeated", false, false, nil},
		{"to be repeated and sent once", true, false, nil},
		{"sent twice", true, true, nil},
		{"sent twice and failed", true, true, net.ErrClosed},
		{"failed", false, false, net.ErrClosed},
	}
	tr := &repeater{}
	tr.reply = unhex(t, accepted+"00000000 0000002a")
	c := oncrpc.NewClient(tr, testProgram, testVersion, oncrpc.AuthNone())
	for _, tt := range tests {
		tr.again, tr.err = tt.again, tt.err
		tr.asked, tr.xids, tr.were = nil, nil, nil
		r := oncrpc.Request{Procedure: 1, Reply: new(word), MayRepeat: tt.repeat, Repeated: true}
		if err := c.Do(context.Background(), &r); !errors.Is(err, tt.err) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.err)
		}
		if len(tr.asked) != 1 || tr.asked[0] != tt.repeat || tr.were[0] || tr.xids[0] != 0 {
			t.Errorf("%s: Repeat %v, Repeated %v, XID %x, want %v, [false], [0]", tt.name, tr.asked, tr.were, tr.xids, tt.repeat)
		}
		if r.Repeated != tt.again {
			t.Errorf("%s: Repeated %v, want %v", tt.name, r.Repeated, tt.again)
		}
	}
}
