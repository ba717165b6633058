package rpcrdma_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestTotalsOfTraffic: for each way to travel, one end has received exactly the bytes that the
// other has sent. The numbers stay when a connection has ended.
func TestTotalsOfTraffic(t *testing.T) {
	const size = 20_000 // beyond the inline sizes
	header := 40        // of an RPC call with AUTH_NONE
	for _, tt := range []struct {
		name string
		req  oncrpc.Request
		want rpcrdma.Traffic // of the client
	}{
		{
			"inline", oncrpc.Request{
				Procedure: procEcho, Args: &items{data: [][]byte{make([]byte, 100)}},
				Reply: &items{}, MaxReply: 200,
			},
			rpcrdma.Traffic{
				InlineSent:     uint64(header + 4 + 4 + 4 + 100 + 4),
				InlineReceived: 24 + 4 + 4 + 4 + 100 + 4,
			},
		},
		{
			"a read chunk", oncrpc.Request{
				Procedure: procSink, Args: &items{data: [][]byte{make([]byte, size)}},
			},
			rpcrdma.Traffic{
				InlineSent: uint64(header + 4 + 4 + 4 + 4), InlineReceived: 24,
				ReadChunkSent: size, Exposed: 1,
			},
		},
		{
			"a write chunk", oncrpc.Request{
				Procedure: procSource, Args: &source{1, size},
				Reply:    &items{data: [][]byte{make([]byte, size)}, land: true},
				MaxReply: 16, Results: [][]byte{make([]byte, size)},
			},
			rpcrdma.Traffic{
				InlineSent: uint64(header + 8), InlineReceived: 24 + 4 + 4 + 4 + 4,
				WriteChunkReceived: size, Exposed: 1,
			},
		},
		{
			"a reply chunk", oncrpc.Request{
				Procedure: procSource, Args: &source{1, size}, Reply: &items{}, MaxReply: size + 200,
			},
			rpcrdma.Traffic{
				InlineSent: uint64(header + 8), ReplyChunkReceived: 24 + 4 + 4 + 4 + size + 4, Exposed: 1,
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ours, theirs rpcrdma.Counters
			r := newRig(t, rpcrdma.Config{Counters: &theirs})
			conn := r.dial(rpcrdma.Config{Counters: &ours})
			if err := client(conn).Do(t.Context(), &tt.req); err != nil {
				t.Fatal(err)
			}
			check := func(what string) {
				t.Helper()
				if diff := cmp.Diff(tt.want, ours.Totals().Traffic); diff != "" {
					t.Errorf("%s, at the client (-want +got):\n%s", what, diff)
				}
				w := tt.want
				mirrored := rpcrdma.Traffic{
					InlineSent: w.InlineReceived, InlineReceived: w.InlineSent,
					ReadChunkReceived: w.ReadChunkSent,
					WriteChunkSent:    w.WriteChunkReceived, ReplyChunkSent: w.ReplyChunkReceived,
				}
				if diff := cmp.Diff(mirrored, theirs.Totals().Traffic); diff != "" {
					t.Errorf("%s, at the server (-want +got):\n%s", what, diff)
				}
			}
			check("while it is up")
			conn.Close()
			<-conn.Done()
			waitFor(t, func() bool {
				return theirs.Totals().Conns[conn.Info().Provider].Ended[rpcrdma.EndClosed] == 1
			})
			check("after its end")
		})
	}
}

// TestTotalsOfConns: connections are counted by provider and by how they ended. The statistics of
// all connections add up, and so do the credits of open ones.
func TestTotalsOfConns(t *testing.T) {
	const n = 3
	var ours, theirs rpcrdma.Counters
	r := newRig(t, rpcrdma.Config{Counters: &theirs, Credits: 5, ServerMemory: 32 << 20})
	var conns []*rpcrdma.Conn
	for range n {
		c := r.dial(rpcrdma.Config{Counters: &ours, Credits: 4})
		conns = append(conns, c)
		go client(c).Do(t.Context(), &oncrpc.Request{Procedure: procBlock, Args: &items{}, Reply: &items{}, MaxReply: 8})
		<-r.program.entered
	}
	got := theirs.Totals()
	if got.Serving != n || got.CallsReceived != n || got.CreditsGiven < n || got.MemoryLimit != 32<<20 {
		t.Errorf("at the server, with %d calls under way: %+v", n, got)
	}
	if got := ours.Totals(); got.CreditsInUse != n || got.CreditsGranted != n || got.CallsSent != n {
		t.Errorf("at the clients, with %d calls under way: %+v", n, got)
	}
	for range n {
		r.program.gate <- struct{}{}
	}
	want := map[string]rpcrdma.ConnTotals{
		conns[0].Info().Provider: {Began: n, Ended: map[rpcrdma.End]uint64{rpcrdma.EndClosed: n}},
	}
	for _, c := range conns {
		waitFor(t, func() bool { _, inUse, _ := c.Credits(); return inUse == 0 })
		c.Close()
		<-c.Done()
	}
	for _, counters := range []*rpcrdma.Counters{&ours, &theirs} {
		waitFor(t, func() bool { return cmp.Equal(want, counters.Totals().Conns) })
	}
	if got := theirs.Totals(); got.Serving != 0 || got.CreditsGiven != 0 || got.CallsReceived != n {
		t.Errorf("at the server, after the end: %+v", got)
	}
}

// TestEnds checks how the ends of connections are classified.
func TestEnds(t *testing.T) {
	var counters rpcrdma.Counters
	r := newRig(t, rpcrdma.Config{Counters: &counters, Credits: 1})
	p := r.raw(privateData{})
	call := append(header(1, rpcrdma.TypeMsg).Append(nil), callBytes(1, procBlock, &items{})...)
	p.burst(call, call, call, call)
	waitFor(t, func() bool {
		for _, c := range counters.Totals().Conns {
			return c.Ended[rpcrdma.EndCredits] == 1
		}
		return false
	})
}
