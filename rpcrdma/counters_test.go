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
	const (
		size         = 20_000 // beyond the inline sizes
		call, reply  = 40, 24 // RPC headers, with AUTH_NONE
		args, result = 8, 16  // of procSource, and of one item without its data
	)
	sink := [][]byte{make([]byte, size)}
	for _, tt := range []struct {
		name string
		req  oncrpc.Request
		want rpcrdma.Traffic // of the client
	}{
		{
			"inline",
			oncrpc.Request{Procedure: procEcho, Args: &items{data: [][]byte{make([]byte, 100)}},
				Reply: &items{}, MaxReply: 200},
			rpcrdma.Traffic{InlineSent: call + result + 100, InlineReceived: reply + result + 100},
		},
		{
			"a read chunk",
			oncrpc.Request{Procedure: procSink, Args: &items{data: sink}},
			rpcrdma.Traffic{InlineSent: call + result, InlineReceived: reply, ReadChunkSent: size,
				Exposed: 1},
		},
		{
			"a write chunk",
			oncrpc.Request{Procedure: procSource, Args: &source{1, size}, MaxReply: result,
				Reply: &items{data: sink, land: true}, Results: sink},
			rpcrdma.Traffic{InlineSent: call + args, InlineReceived: reply + result,
				WriteChunkReceived: size, Exposed: 1},
		},
		{
			"a reply chunk",
			oncrpc.Request{Procedure: procSource, Args: &source{1, size}, MaxReply: size + 200,
				Reply: &items{}},
			rpcrdma.Traffic{InlineSent: call + args, ReplyChunkReceived: reply + result + size,
				Exposed: 1},
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
