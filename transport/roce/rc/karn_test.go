package rc

import (
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
)

// TestKarn: the acknowledgement of a packet that was sent twice is no sample of the round-trip time
// (Karn's algorithm, RFC 6298 section 3), because it may be for either.
func TestKarn(t *testing.T) {
	const rtt = 40 * time.Millisecond
	answer := func(p *pair, s bth.Syndrome) {
		p.arrive(p.a, &bth.Packet{
			Opcode: bth.Acknowledge, PSN: p.a.Requester.wire.psn(0), AETH: bth.AETH{Syndrome: s},
		})
	}
	for _, tt := range []struct {
		name  string
		fault func(p *pair)
		again int           // packets sent again
		want  time.Duration // timeout afterwards
	}{
		{"none", func(*pair) {}, 0, 3 * rtt}, // RFC 6298 section 2.2
		{"sequence error", func(p *pair) { answer(p, bth.NAKSequence) }, 1, firstTimeout},
		{"receiver not ready", func(p *pair) {
			answer(p, bth.RNRAfter(10*time.Millisecond))
			p.now = p.a.Requester.Deadline()
		}, 1, firstTimeout},
		{"timeout", func(p *pair) {
			p.now = p.a.Requester.Deadline()
			p.a.failed(p.a.Expire(p.now))
		}, 1, firstTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t, 1)
			p.a.Post(send([]byte("first")))
			p.sentBy(p.a)
			tt.fault(p)
			if n := len(p.sentBy(p.a)); n != tt.again {
				t.Fatalf("%d packets were sent again, want %d", n, tt.again)
			}
			p.now = p.now.Add(rtt)
			answer(p, bth.ACK)
			p.a.Post(send([]byte("second")))
			p.sentBy(p.a)
			if got := p.a.Requester.Deadline().Sub(p.now); got != tt.want || p.a.err != nil {
				t.Errorf("the timeout is %v, error %v; want %v", got, p.a.err, tt.want)
			}
		})
	}
}
