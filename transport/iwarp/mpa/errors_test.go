package mpa

import (
	"context"
	"errors"
	"os"
	"testing"
)

func TestStartupError(t *testing.T) {
	for _, tt := range []struct {
		name    string
		err     error
		want    string
		timeout bool
	}{
		{"plain", ErrEnhanced, "MPA startup: peer asks for enhanced setup", false},
		{"frame", frameError(errKey), "MPA startup: bad startup frame: peer does not speak MPA: wrong key", false},
		{"RPC", frameError(errRPC), "MPA startup: bad startup frame: peer does not speak MPA: it speaks RPC over TCP: that is another port", false},
		{"deadline", os.ErrDeadlineExceeded, "MPA startup: i/o timeout", true},
		{"context", context.DeadlineExceeded, "MPA startup: context deadline exceeded", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := &StartupError{Err: tt.err}
			if got.Error() != tt.want || got.Timeout() != tt.timeout || !errors.Is(got, tt.err) {
				t.Errorf("got %q, timeout %t, want %q, %t", got, got.Timeout(), tt.want, tt.timeout)
			}
		})
	}
}

func TestRejectErrorMessage(t *testing.T) {
	for _, tt := range []struct {
		in   RejectError
		want string
	}{
		{RejectError{PeerIRD: -1, PeerORD: -1}, "MPA startup: rejected by peer"},
		{RejectError{Enhanced: true, PeerIRD: 16, PeerORD: 4}, "MPA startup: rejected by peer (IRD 16, ORD 4)"},
		{RejectError{PeerIRD: -1, PeerORD: -1, Err: ErrRevision}, "MPA startup: rejected by peer: unusable MPA revision"},
	} {
		if got := tt.in.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
