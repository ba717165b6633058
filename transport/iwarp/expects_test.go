package iwarp_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// The response to a Read is expected; so are the peer's Reads of newly exposed memory, until the
// peer has sent something.
func TestExpects(t *testing.T) {
	p, l := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff}).connect()
	l.start()
	l.receives(1)
	want := func(when string, want bool) {
		t.Helper()
		if got := iwarp.SinkOf(l.Endpoint).ExpectsMore(); got != want {
			t.Errorf("%s: got %t, want %t", when, got, want)
		}
	}
	want("at the beginning", false)
	l.expose(transport.RemoteWrite, make([]byte, 8))
	want("memory to write to", false)
	l.expose(transport.RemoteRead, make([]byte, 8))
	want("memory to read", true)
	p.sendMessage("done")
	l.wantMessage("done")
	want("after a message", false)

	sink := make([]byte, 2)
	l.post(&transport.WorkRequest{
		Op: transport.OpRead, Flags: transport.Signaled,
		Local: slices(sink), Remote: transport.Remote{STag: 1},
	})
	r := p.wantReadRequest(1)
	want("after a Read", true)
	p.send(segment(toSTag(rdmap.OpReadResponse, r.SinkSTag, r.SinkOffset), "xy"))
	if err := hang.Receive(t, "completion", l.completions); err != nil {
		t.Fatal(err)
	}
	want("after its response", false)
}
