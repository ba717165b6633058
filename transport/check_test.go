package transport_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// limits are those of an endpoint that has all of them.
var limits = transport.Info{ORD: 1, MaxSendSGE: 2, MaxReadSGE: 1, MaxRecvSGE: 3, MaxMessage: 10}

// list returns a list of slices of n bytes each.
func list(n ...int) (l []transport.Slice) {
	for _, n := range n {
		l = append(l, transport.Slice{Bytes: make([]byte, n)})
	}
	return l
}

func TestCheckPost(t *testing.T) {
	const send, write, read = transport.OpSend, transport.OpWrite, transport.OpRead
	const sendInvalidate, invalidate = transport.OpSendInvalidate, transport.OpInvalidate
	none := transport.Info{ORD: 1}
	for _, tt := range []struct {
		name  string
		info  transport.Info
		op    transport.Op
		local []transport.Slice
		want  error
	}{
		{"operation 0", none, 0, nil, transport.ErrWorkRequest},
		{"operation too large", none, invalidate + 1, nil, transport.ErrWorkRequest},
		{"send of nothing", limits, send, nil, nil},
		{"send at the limits", limits, send, list(4, 6), nil},
		{"send of too many elements", limits, send, list(1, 1, 1), transport.ErrWorkRequest},
		{"send too long", limits, send, list(5, 6), transport.ErrWorkRequest},
		{"send without limits", none, send, list(100, 100, 100, 100), nil},
		{"send with invalidate at the limits", limits, sendInvalidate, list(4, 6), nil},
		{"send with invalidate too long", limits, sendInvalidate, list(11), transport.ErrWorkRequest},
		{"write at the limits", limits, write, list(4, 6), nil},
		{"write of too many elements", limits, write, list(1, 1, 1), transport.ErrWorkRequest},
		{"write too long", limits, write, list(11), transport.ErrWorkRequest},
		{"read at the limits", limits, read, list(10), nil},
		{"read of too many elements", limits, read, list(1, 1), transport.ErrWorkRequest},
		{"read too long", limits, read, list(11), transport.ErrWorkRequest},
		{"read without limits", none, read, list(100, 100, 100, 100), nil},
		{"read without ORD", transport.Info{}, read, nil, transport.ErrNoReads},
		{"write without ORD", transport.Info{}, write, nil, nil},
		{"invalidate with a list that is not used", limits, invalidate, list(9, 9, 9), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wr := &transport.WorkRequest{Op: tt.op, Local: tt.local, Done: ignore{}}
			good := &transport.WorkRequest{Op: send, Done: ignore{}}
			for _, wrs := range [][]*transport.WorkRequest{{wr}, {good, wr, good}} {
				if err := tt.info.CheckPost(wrs); !errors.Is(err, tt.want) {
					t.Errorf("%d requests: got error %v, want %v", len(wrs), err, tt.want)
				}
			}
		})
	}
	for name, bad := range map[string]*transport.WorkRequest{"nil": nil, "no Completer": {Op: send}} {
		err := none.CheckPost([]*transport.WorkRequest{bad})
		if !errors.Is(err, transport.ErrWorkRequest) {
			t.Errorf("%s: got error %v, want %v", name, err, transport.ErrWorkRequest)
		}
	}
	if err := none.CheckPost(nil); err != nil {
		t.Errorf("no requests: %v", err)
	}
}

func TestCheckPostRecv(t *testing.T) {
	for _, tt := range []struct {
		name string
		info transport.Info
		r    *transport.RecvRequest
		want error
	}{
		{"nil", transport.Info{}, nil, transport.ErrWorkRequest},
		{"no memory", limits, &transport.RecvRequest{}, nil},
		{"at the limit", limits, &transport.RecvRequest{Local: list(100, 100, 100)}, nil},
		{"too many elements", limits, &transport.RecvRequest{Local: list(1, 1, 1, 1)}, transport.ErrWorkRequest},
		{"without a limit", transport.Info{}, &transport.RecvRequest{Local: list(1, 1, 1, 1)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			good := new(transport.RecvRequest)
			for _, rs := range [][]*transport.RecvRequest{{tt.r}, {good, tt.r, good}} {
				if err := tt.info.CheckPostRecv(rs); !errors.Is(err, tt.want) {
					t.Errorf("%d receives: got error %v, want %v", len(rs), err, tt.want)
				}
			}
		})
	}
}
