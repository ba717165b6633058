package iwarp

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// Adapters refuse a steering tag of 0. Those of windows are package stag's; here are those of what RDMA Reads go to, be they of no bytes.
func TestSinkTags(t *testing.T) {
	p, l := newRig(t, true, Config{CRC: CRCOff}).connect()
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
		if err := await(t, "completion", l.completions); err != nil || string(sink) != "xy"[:len(sink)] {
			t.Fatalf("Read %d: got %q, %v", i, sink, err)
		}
	}
}

// Of what is drawn an index of 0 is not taken, nor that of the tag before.
func TestSinkTagsTaken(t *testing.T) {
	var tags sinkTags
	for _, tt := range []struct {
		tag  uint32
		want bool
	}{
		{0, false},
		{0xff, false},
		{0x100, true},
		{0x100, false},
		{0x1ff, false},
		{0x200, true},
		{0x100, true},
		{0xff, false},
		{0xffffffff, true},
		{0xffffff00, false},
	} {
		if got := tags.take(tt.tag); got != tt.want {
			t.Errorf("tag %#x: taken is %t, want %t", tt.tag, got, tt.want)
		}
	}
}
