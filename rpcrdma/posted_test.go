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
		{"the rest is too long for inline", source{4, size}, []int{size}, 0},
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

// countUnposted makes a call of procSource whose Send, or that of its reply, is not posted, and
// returns the differences in what the two ends have counted.
func countUnposted(t *testing.T, atServer bool) (atOurs, atTheirs rpcrdma.Totals) {
	t.Helper()
	var ours, theirs rpcrdma.Counters
	eps := make(chan *endsAtPost, 2)
	wrap := func(ep transport.Endpoint) transport.Endpoint {
		e := &endsAtPost{Endpoint: ep}
		eps <- e
		return e
	}
	wraps := []endpointWrapper{wrap, sameEndpoint}
	if !atServer {
		wraps[0], wraps[1] = wraps[1], wraps[0]
	}
	r := newRigOn(t, rpcrdma.Config{Counters: &theirs}, loopback.Config{}, wraps[0])
	conn := r.dialOn(rpcrdma.Config{Counters: &ours}, wraps[1])
	req := oncrpc.Request{Procedure: procSource, Args: &source{1, 20_000}, MaxReply: 16,
		Reply:   &items{data: [][]byte{make([]byte, 20_000)}, land: true},
		Results: [][]byte{make([]byte, 20_000)}}
	if err := echo(conn, &items{}, false); err != nil {
		t.Fatal(err)
	}
	was := [2]rpcrdma.Totals{ours.Totals(), theirs.Totals()}
	wait(t, eps).ends.Store(true)
	if err := client(conn).Do(t.Context(), &req); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("error %v, want %v", err, net.ErrClosed)
	}
	ended(t, conn)
	waitFor(t, func() bool { return theirs.Totals().Conns["loopback"].Ended[rpcrdma.EndClosed] == 1 })
	less := func(a, b rpcrdma.Totals) rpcrdma.Totals {
		a.CallsSent -= b.CallsSent
		a.InlineSent -= b.InlineSent
		a.ReadChunkSent -= b.ReadChunkSent
		a.WriteChunkSent -= b.WriteChunkSent
		a.ReplyChunkSent -= b.ReplyChunkSent
		return a
	}
	return less(ours.Totals(), was[0]), less(theirs.Totals(), was[1])
}

// TestUnpostedCounts: what is not posted does not count as sent.
func TestUnpostedCounts(t *testing.T) {
	check := func(t *testing.T, n rpcrdma.Totals) {
		t.Helper()
		if n.CallsSent != 0 || n.InlineSent != 0 || n.ReadChunkSent != 0 || n.WriteChunkSent != 0 ||
			n.ReplyChunkSent != 0 {
			t.Errorf("counted as sent: %d calls, bytes: %d inline, %d, %d and %d in read, write and "+
				"reply chunks", n.CallsSent, n.InlineSent, n.ReadChunkSent, n.WriteChunkSent,
				n.ReplyChunkSent)
		}
	}
	t.Run("a call", func(t *testing.T) {
		n, _ := countUnposted(t, false)
		check(t, n)
	})
	t.Run("a reply", func(t *testing.T) {
		_, n := countUnposted(t, true)
		check(t, n)
	})
	t.Run("a call whose XID is in use", func(t *testing.T) {
		c, p := rawServer(t, rpcrdma.Config{}, inline4k)
		clientWorks(t, c, p) // grants more than one credit
		first := roundTrip(t.Context(), c, named(5, &items{}))
		h, _ := p.next()
		stats, sent := c.Stats().CallsSent, c.Traffic()
		err := c.RoundTrip(t.Context(), named(5, &items{data: [][]byte{make([]byte, 70_000)}}))
		if !errors.Is(err, oncrpc.ErrXIDInUse) {
			t.Fatalf("error %v, want %v", err, oncrpc.ErrXIDInUse)
		}
		got := c.Traffic()
		got.Exposed = sent.Exposed
		if diff := cmp.Diff(sent, got); diff != "" || c.Stats().CallsSent != stats {
			t.Errorf("%d calls sent, want %d; traffic (-want +got):\n%s", c.Stats().CallsSent, stats,
				diff)
		}
		p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
		if err := wait(t, first); err != nil {
			t.Error(err)
		}
	})
}

// TestPendingCounts: a call that has been sent counts, though the connection ends before its reply.
func TestPendingCounts(t *testing.T) {
	var counters rpcrdma.Counters
	c, p := rawServer(t, rpcrdma.Config{Counters: &counters}, inline4k)
	done := roundTrip(t.Context(), c, named(5, &items{data: [][]byte{make([]byte, 70_000)}}))
	_, body := p.next()
	p.ep.Close()
	ended(t, c)
	got := counters.Totals()
	if got.CallsSent != 1 || got.InlineSent != uint64(len(body)) || got.ReadChunkSent != 70_000 {
		t.Errorf("%d calls sent, %d bytes inline and %d in read chunks, want 1, %d and 70000",
			got.CallsSent, got.InlineSent, got.ReadChunkSent, len(body))
	}
	if err := wait(t, done); !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v, want %v", err, net.ErrClosed)
	}
}
