package rpcrdma_test

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// TestRefusedReplyCounts: a reply for which the caller offers too little room is not sent, so no
// part of it counts. The RDMA_ERROR does.
func TestRefusedReplyCounts(t *testing.T) {
	const size = 2000
	for _, tt := range []struct {
		name   string
		args   source
		writes []int // lengths of the write chunks
		reply  int   // length of the reply chunk
	}{
		{"the second write chunk is too short", source{2, size}, []int{size, size - 1}, 0},
		{"the rest is too long for the reply chunk", source{4, size}, []int{size}, size},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var counters rpcrdma.Counters
			r := newRig(t, rpcrdma.Config{Counters: &counters})
			p := r.raw(inline4k)
			p.alive()
			before := counters.Totals()
			h := header(1, rpcrdma.TypeMsg)
			for _, n := range tt.writes {
				h.AddWrite([]chunks.Segment{p.expose(make([]byte, n), transport.RemoteWrite)})
			}
			if tt.reply > 0 {
				h.SetReply([]chunks.Segment{p.expose(make([]byte, tt.reply), transport.RemoteWrite)})
			}
			body := callBytes(1, procSource, &tt.args)
			p.send(h, body)
			if got, _ := p.next(); got.Type != rpcrdma.TypeError || got.Err != rpcrdma.ErrChunk {
				t.Fatalf("answer %+v, want ERR_CHUNK", got)
			}
			after := counters.Totals()
			want := before.Traffic
			want.InlineReceived += uint64(len(body))
			if diff := cmp.Diff(want, after.Traffic); diff != "" {
				t.Errorf("traffic (-want +got):\n%s", diff)
			}
			if after.TooLong != 1 || after.ErrorsSent != 1 {
				t.Errorf("%d replies too long and %d RDMA_ERRORs, want 1 and 1", after.TooLong,
					after.ErrorsSent)
			}
		})
	}
}

// endsAtPost is an endpoint that can end instead of taking what is posted.
type endsAtPost struct {
	transport.Endpoint
	ends atomic.Bool
}

func (e *endsAtPost) Post(wrs ...*transport.WorkRequest) error {
	if e.ends.Load() {
		e.Close()
		return net.ErrClosed
	}
	return e.Endpoint.Post(wrs...)
}

// sentOf returns what a connection counts as sent.
func sentOf(c *rpcrdma.Conn) [5]uint64 {
	t := c.Traffic()
	return [5]uint64{
		c.Stats().CallsSent, t.InlineSent, t.ReadChunkSent, t.WriteChunkSent, t.ReplyChunkSent,
	}
}

// TestUnpostedCounts: what is not posted does not count as sent.
func TestUnpostedCounts(t *testing.T) {
	for sender, what := range []string{"a call", "a reply"} {
		t.Run(what, func(t *testing.T) {
			var ends *endsAtPost
			wraps := []endpointWrapper{sameEndpoint, sameEndpoint}
			wraps[sender] = func(ep transport.Endpoint) transport.Endpoint {
				ends = &endsAtPost{Endpoint: ep}
				return ends
			}
			r := newRigOn(t, rpcrdma.Config{}, loopback.Config{}, wraps[1])
			conn := r.dialOn(rpcrdma.Config{}, wraps[0])
			if err := client(conn).Call(t.Context(), procNull, nil, nil); err != nil {
				t.Fatal(err)
			}
			end := []*rpcrdma.Conn{conn, wait(t, r.program.conns)}[sender]
			was := sentOf(end)
			ends.ends.Store(true)
			req := oncrpc.Request{Procedure: procSource, Args: &source{1, 20_000}, MaxReply: 16,
				Reply:   &items{data: [][]byte{make([]byte, 20_000)}, land: true},
				Results: [][]byte{make([]byte, 20_000)}}
			if err := client(conn).Do(t.Context(), &req); !errors.Is(err, net.ErrClosed) {
				t.Fatalf("error %v, want %v", err, net.ErrClosed)
			}
			ended(t, end)
			waitRight(t, func() string { return cmp.Diff(was, sentOf(end)) })
		})
	}
}
