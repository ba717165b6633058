package rpcrdma

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// failingRequest cannot be accepted.
type failingRequest struct {
	err      error
	rejected int
}

func (r *failingRequest) Info() transport.Info { return transport.Info{} }
func (r *failingRequest) Accept(context.Context, []byte) (transport.Endpoint, error) {
	return nil, r.err
}
func (r *failingRequest) Reject([]byte) error { r.rejected++; return nil }

// What is wrong with a peer its provider has logged, as often as is good. What is wrong with us is logged here.
func TestConnectionNotMade(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"the peer", errors.New("insufficient IRD"), "level=DEBUG"},
		{"ourselves", fmt.Errorf("accept: %w", transport.ErrPrivateData), "level=WARN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			a := acceptor{cfg: Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}.withDefaults()}
			req := &failingRequest{err: tt.err}
			a.accept(t.Context(), req)
			if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, tt.want) || !strings.Contains(got, tt.err.Error()) {
				t.Errorf("got log %q, want a line with %s and %q", got, tt.want, tt.err)
			}
			if req.rejected != 1 {
				t.Errorf("rejected %d times, want once", req.rejected)
			}
		})
	}
}
