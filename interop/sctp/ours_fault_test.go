//go:build interop

package sctp

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// A steering tag is valid on its endpoint's stream only (section 7.4 of the draft). An RDMA Write
// with another stream's tag ends its stream: by an RDMAP Terminate, followed by the message that
// ends a stream. The association and its other streams go on (RFC 5043 section 11.3, section 7.2 of
// the draft).
func TestOurFault(t *testing.T) {
	for _, w := range []wire{{sctp.Config{}, 16}, {sctp.Config{Draft: true}, 1}} {
		t.Run(w.String(), func(t *testing.T) {
			r := asked(t, iwarp.Config{Enhanced: mpa.EnhancedNever}, w.low, nil)
			defer r.over()
			a, b := r.session(0), r.session(1)
			window := make([]byte, 4)
			regions, err := a.Expose(nil, memory(window), transport.RemoteWrite)
			if err != nil {
				t.Fatal(err)
			}
			write := fmt.Sprintf("c1 40 %08x %016x", regions[0].STag, regions[0].Base)
			r.says(1, w.ppid, w.ssn(1)+write+"11 22 33 44")
			// Layer DDP, tagged buffer error, invalid STag; the length of the segment, which is
			// with its header of 14 bytes, and that (RFC 5040 section 4.8, RFC 5041 section 7.2).
			r.hears(1, w.ppid, w.ssn(1)+"41 47 00000000 00000002 00000001 00000000"+
				"1100 c000 0012"+write)
			if w.low.Draft {
				r.hears(1, 1, "00000001")
			} else {
				r.hears(1, 17, "0002 0004")
			}
			if err := b.ended(); !errors.Is(err, transport.ErrSTag) {
				t.Errorf("got error %v, want %v", err, transport.ErrSTag)
			}

			// The stream of the tag has not noticed.
			a.receives()
			r.says(0, w.ppid, w.ssn(1)+write+"55 66 77 88")
			r.says(0, w.ppid, w.ssn(2)+send(1, "99"))
			a.wantMessage("99")
			if got, want := fmt.Sprintf("%x", window), "55667788"; got != want {
				t.Errorf("the window is %s, want %s", got, want)
			}
			if n := r.low.Counters.Stats().Associations; n != 1 {
				t.Errorf("there were %d associations, want 1", n)
			}
		})
	}
}

// The side that asks sends no segment before its Initiate is answered (RFC 5043 section 6.6).
func TestOurFirst(t *testing.T) {
	r := asks(t, iwarp.Config{PeerToPeer: true, RTR: mpa.RTRWrite}, sctp.Config{})
	defer r.over()
	dial := r.dial("")
	r.expectUp()
	r.hears(0, 17, "0000 0005 8010 8010")
	r.says(0, 17, "0000 0006 8010 8010")
	r.end(dial).send("6869")
	r.hears(0, 16, "0001 c1 40 00000001 0000000000000000")
	r.hears(0, 16, "0002"+send(1, "6869"))
	answered := false
	for _, d := range r.relay.datagrams() {
		for _, m := range dataOf(t, parseAll(t, []datagram{d}, d.FromClient)) {
			switch {
			case !d.FromClient && m.PPID == 17:
				answered = true
			case m.PPID == 16 && !answered:
				t.Errorf("%+v is sent before the answer", m)
			}
		}
	}
	if !answered {
		t.Error("there is no answer")
	}
}
