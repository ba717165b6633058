package probe

import (
	"context"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// told is a MessageHandler that reports each message.
type told chan struct{}

func (c told) Received(batch []transport.Message) {
	for range batch {
		c <- struct{}{}
	}
}

// expiring is a context that the test lets expire.
type expiring struct {
	context.Context
	over chan struct{}
}

func (c expiring) Done() <-chan struct{} { return c.over }

func (c expiring) Err() error {
	select {
	case <-c.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestConfUnanswered: servers that set up a connection over RDMA, and then do not answer.
func TestConfUnanswered(t *testing.T) {
	for _, tt := range []struct {
		name string
		recv int // bytes of the receive; 0: there is none
		then func(ep transport.Endpoint, ctx expiring)
		say  string
	}{
		{"silent", 4096, func(_ transport.Endpoint, ctx expiring) { close(ctx.over) }, "the server does not answer"},
		{"leaves", 4096, func(ep transport.Endpoint, _ expiring) { ep.Close() }, "the server has ended the connection"},
		{"takes nothing", 0, nil, "no buffer for the message"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{Logger: reach.Quiet})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			ctx := expiring{context.WithoutCancel(t.Context()), make(chan struct{})}
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				r, err := l.Accept(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				ep, err := r.Accept(t.Context(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				came := make(told, 1)
				if tt.recv > 0 {
					if err := ep.PostRecv(&transport.RecvRequest{Local: []transport.Slice{{Bytes: make([]byte, tt.recv)}}}); err != nil {
						t.Error(err)
					}
				}
				ep.Start(came)
				if tt.recv > 0 {
					<-came
					tt.then(ep, ctx)
				}
				<-ep.Done()
			}()
			at, err := parseConfTarget("rdma://" + l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			_, err = ask(ctx, newConfFlags(), at)
			if err == nil {
				t.Fatal("there is an answer")
			}
			got, want := explainConf(at, at, err).Error(), "port "+l.Addr().String()+" speaks RPC over RDMA, but CONF_RDMA fails there: "
			if !strings.HasPrefix(got, want) || !strings.Contains(got, tt.say) {
				t.Errorf("got %q, want %q and %q", got, want, tt.say)
			}
			<-gone
		})
	}
}
