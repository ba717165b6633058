package redial_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

func TestOpError(t *testing.T) {
	for _, tt := range []struct {
		err     *redial.OpError
		want    string
		timeout bool
	}{
		{&redial.OpError{Op: "dial", Err: errRefused}, "redial dial: connection refused", false},
		{&redial.OpError{Op: "redial", Peer: addr("host:1"), Err: errRefused}, "redial host:1: connection refused", false},
		{&redial.OpError{Op: "redial", Peer: addr("host:1"), TriedFor: 1500 * time.Millisecond,
			Err: context.DeadlineExceeded},
			"redial host:1: tried for 1.5s: context deadline exceeded", true},
		{&redial.OpError{Op: "call", Peer: addr("host:1"), Err: redial.ErrStalled}, "redial call host:1: peer does not answer", false},
		{&redial.OpError{Op: "close", Peer: addr("host:1"), Err: net.ErrClosed}, "redial close host:1: use of closed network connection", false},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
		if tt.err.Timeout() != tt.timeout || !errors.Is(tt.err, tt.err.Err) {
			t.Errorf("%s: timeout %v, want %v", tt.want, tt.err.Timeout(), tt.timeout)
		}
	}
}
