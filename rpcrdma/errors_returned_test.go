package rpcrdma_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestReturnedChunks sends replies whose returned chunks differ from those offered.
func TestReturnedChunks(t *testing.T) {
	const size = 10_001
	type answer struct {
		*rpcrdma.Header
		offered *chunks.Lists
	}
	for _, tt := range []struct {
		name   string
		change func(a answer)
	}{
		{"fewer write chunks", func(a answer) { a.Writes = a.Writes[:1] }},
		{"more write chunks", func(a answer) { a.AddWrite(a.offered.Writes[0]) }},
		{"a segment less", func(a answer) { a.Writes[0] = a.Writes[0][:2] }},
		{"a segment more", func(a answer) { a.Writes[0] = append(a.Writes[0], chunks.Segment{}) }},
		{"no segments", func(a answer) { a.Writes[1] = nil }},
		{"chunks in another order", func(a answer) { a.Writes[0], a.Writes[1] = a.Writes[1], a.Writes[0] }},
		{"segments in another order", func(a answer) { w := a.Writes[0]; w[0], w[1] = w[1], w[0] }},
		{"another handle", func(a answer) { a.Writes[1][0].Handle++ }},
		{"another handle of an unused segment", func(a answer) { a.Writes[0][2].Handle++; a.Writes[0][2].Length = 0 }},
		{"another offset", func(a answer) { a.Writes[0][1].Offset++ }},
		{"longer than offered", func(a answer) { a.Writes[1][0].Length += 4 }},
		{"2^32-1 bytes", func(a answer) { a.Writes[0][0].Length = 1<<32 - 1 }},
		{"2^32-1 bytes in each segment", func(a answer) {
			for i := range a.Writes[0] {
				a.Writes[0][i].Length = 1<<32 - 1
			}
		}},
		{"a gap", func(a answer) { a.Writes[0][0].Length-- }},
		{"reply chunk: a segment less", func(a answer) { a.Type, a.Reply = rpcrdma.TypeNoMsg, a.offered.Reply[:1] }},
		{"reply chunk: a segment more", func(a answer) {
			a.Type = rpcrdma.TypeNoMsg
			a.SetReply(append(a.offered.Reply[:len(a.offered.Reply):len(a.offered.Reply)], chunks.Segment{}))
		}},
		{"reply chunk: another handle", func(a answer) { a.Type = rpcrdma.TypeNoMsg; a.SetReply(a.offered.Reply); a.Reply[0].Handle++ }},
		{"reply chunk: another offset", func(a answer) { a.Type = rpcrdma.TypeNoMsg; a.SetReply(a.offered.Reply); a.Reply[1].Offset-- }},
		{"reply chunk: longer than offered", func(a answer) {
			a.Type = rpcrdma.TypeNoMsg
			a.SetReply(a.offered.Reply)
			a.Reply[len(a.Reply)-1].Length++
		}},
		{"reply chunk: 2^32-1 bytes", func(a answer) { a.Type = rpcrdma.TypeNoMsg; a.SetReply(a.offered.Reply); a.Reply[0].Length = 1<<32 - 1 }},
		{"reply chunk: a gap", func(a answer) { a.Type = rpcrdma.TypeNoMsg; a.SetReply(a.offered.Reply); a.Reply[0].Length-- }},
		{"reply chunk: seven bytes", func(a answer) {
			a.Type = rpcrdma.TypeNoMsg
			segs, _ := chunks.Distribute(nil, a.offered.Reply, 7)
			a.SetReply(segs)
		}},
		{"a write chunk for the reply", func(a answer) { a.Type = rpcrdma.TypeNoMsg; a.SetReply(a.offered.Writes[0]) }},
	} {
		for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
			t.Run(fmt.Sprintf("%v/%s", d, tt.name), func(t *testing.T) {
				c, p := rawServer(t, rpcrdma.Config{Dialect: d, SegmentSize: 4000}, inline4k)
				callAnswered(t, c, p)
				before, counters := p.clientLedger.state(), c.Stats()
				results := [][]byte{make([]byte, size), make([]byte, 3000)}
				done := make(chan error, 1)
				x := &oncrpc.Exchange{Call: callMessage(0, procEcho, &items{}), Results: results,
					MaxReply: 9000}
				go func() { done <- c.RoundTrip(t.Context(), x) }()
				h, _ := p.next()
				if len(h.Writes) != 2 || len(h.Writes[0]) != 3 || len(h.Writes[1]) != 1 || len(h.Reply) != 3 {
					t.Fatalf("offered %+v", h.Lists)
				}
				r := header(h.XID, rpcrdma.TypeMsg)
				for _, w := range h.Writes {
					r.AddWrite(w)
				}
				tt.change(answer{r, &h.Lists})
				if r.Type == rpcrdma.TypeNoMsg {
					r.HasReply = true
				}
				p.send(r, result(h.XID, size))
				checkEnd(t, wait(t, done), rpcrdma.ErrMalformed)
				if diff := cmp.Diff(rpcrdma.Stats{CallsSent: 1, Malformed: 1}, counted(counters, c.Stats())); diff != "" {
					t.Errorf("counters (-want +got):\n%s", diff)
				}
				callAnswered(t, c, p) // its reply is the next message
				after := p.clientLedger.state()
				if _, used, waiting := c.Credits(); after != before || used+waiting > 0 {
					t.Errorf("the connection holds %+v, want %+v as before; %d credits are in use", after, before, used)
				}
			})
		}
	}
}
