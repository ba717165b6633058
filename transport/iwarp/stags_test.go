package iwarp_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// Adapters refuse steering tag 0. Package stag makes those of windows; this test is about the sinks
// of RDMA Reads, even those of length zero.
func TestSinkTags(t *testing.T) {
	p, l := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff}).connect()
	l.start()
	last := transport.STag(0)
	for i := range uint32(600) {
		sink := make([]byte, i%3)
		l.post(&transport.WorkRequest{Op: transport.OpRead, Flags: transport.Signaled, Local: slices(sink), Remote: transport.Remote{STag: 1}})
		r := p.wantReadRequest(i + 1)
		if r.SinkSTag == 0 || r.SinkSTag>>8 == last>>8 {
			t.Fatalf("Read %d goes to tag %#x, after %#x", i, r.SinkSTag, last)
		}
		last = r.SinkSTag
		p.send(segment(toSTag(rdmap.OpReadResponse, r.SinkSTag, r.SinkOffset), "xy"[:len(sink)]))
		if err := hang.Receive(t, "completion", l.completions); err != nil || string(sink) != "xy"[:len(sink)] {
			t.Fatalf("Read %d: got %q, %v", i, sink, err)
		}
	}
}
