package mpa_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

func TestStartupError(t *testing.T) {
	_, _, key := mpa.ParseFrame([]byte("GET / HTTP/1.1\r\nHost: example.org\r\n"))
	_, _, rpc := mpa.ParseFrame(rpcHeader(0x80, 0, 0, 2))
	for _, tt := range []struct {
		name    string
		err     error
		want    string
		timeout bool
	}{
		{"plain", mpa.ErrEnhanced, "MPA startup: peer asks for enhanced setup", false},
		{"frame", key, "MPA startup: bad startup frame: peer does not speak MPA: wrong key", false},
		{"RPC", rpc, "MPA startup: bad startup frame: peer does not speak MPA: it speaks RPC over TCP (wrong port?)", false},
		{"deadline", os.ErrDeadlineExceeded, "MPA startup: i/o timeout", true},
		{"context", context.DeadlineExceeded, "MPA startup: context deadline exceeded", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := &mpa.StartupError{Err: tt.err}
			if got.Error() != tt.want || got.Timeout() != tt.timeout || !errors.Is(got, tt.err) {
				t.Errorf("got %q, timeout %t, want %q, %t", got, got.Timeout(), tt.want, tt.timeout)
			}
		})
	}
}

func TestRejectErrorMessage(t *testing.T) {
	for _, tt := range []struct {
		in   mpa.RejectError
		want string
	}{
		{mpa.RejectError{PeerIRD: -1, PeerORD: -1}, "MPA startup: rejected by peer"},
		{mpa.RejectError{Enhanced: true, PeerIRD: 16, PeerORD: 4}, "MPA startup: rejected by peer (IRD 16, ORD 4)"},
		{mpa.RejectError{PeerIRD: -1, PeerORD: -1, Err: mpa.ErrRevision}, "MPA startup: rejected by peer: unusable MPA revision"},
	} {
		if got := tt.in.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
