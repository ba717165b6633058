package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// failingRequest cannot be accepted.
type failingRequest struct {
	err      error
	rejected chan struct{}
}

func (r *failingRequest) Info() transport.Info { return transport.Info{} }
func (r *failingRequest) Accept(context.Context, transport.Preparation) (
	transport.Endpoint, error) {
	return nil, r.err
}
func (r *failingRequest) Reject([]byte) error { r.rejected <- struct{}{}; return nil }

// requests is a listener that has these requests, and no address.
type requests chan transport.Request

func (l requests) Accept(ctx context.Context) (transport.Request, error) {
	select {
	case req, ok := <-l:
		if !ok {
			return nil, net.ErrClosed
		}
		return req, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
func (requests) MaxPrivateReply() (accept, reject int) { return 512, 512 }
func (l requests) Addr() net.Addr                      { return &net.TCPAddr{} }
func (l requests) Close() error                        { return nil }

// TestConnectionNotMade: errors of a peer are logged by its provider, at a limited rate. Errors at
// our end are logged here.
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
			req := &failingRequest{err: tt.err, rejected: make(chan struct{}, 2)}
			l := make(requests, 1)
			l <- req
			close(l)
			s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
			defer s.Close()
			cfg := rpcrdma.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
			if err := rpcrdma.Serve(t.Context(), l, s, cfg); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Serve: %v", err)
			}
			if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, tt.want) || !strings.Contains(got, tt.err.Error()) {
				t.Errorf("got log %q, want a line with %s and %q", got, tt.want, tt.err)
			}
			if n := len(req.rejected); n != 1 {
				t.Errorf("rejected %d times, want once", n)
			}
		})
	}
}
