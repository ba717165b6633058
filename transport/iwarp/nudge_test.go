package iwarp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// maxNudges is how often a peer is nudged: once, and five times more, as NudgeAfter says.
const maxNudges = 6

// emptyWrite is a Write of length zero, to a steering tag that does not exist.
func emptyWrite() []byte { return segment(toSTag(rdmap.OpWrite, 1, 0), "") }

// A peer that does not answer our first message is nudged, a limited number of times, after longer
// and longer waits.
func TestNudge(t *testing.T) {
	for set, wait := range map[time.Duration]time.Duration{
		time.Millisecond: time.Millisecond,
		0:                iwarp.DefaultNudgeAfter,
	} {
		t.Run(set.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newVirtualRig(t, true, iwarp.Config{CRC: iwarp.CRCOff})
				r.cfg.NudgeAfter = set
				p, l := r.connect()
				l.start() // it has sent something
				for range maxNudges {
					last := time.Now()
					p.want("nudge", emptyWrite())
					if got := time.Since(last); got != wait {
						t.Errorf("nudged after %v, want %v", got, wait)
					}
					wait *= 2
				}
				l.Close()
				p.wantFIN()
			})
		})
	}
}

// A peer that speaks first is not nudged.
func TestNudgeNobody(t *testing.T) {
	r := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff, NudgeAfter: time.Nanosecond})
	dial := r.dial(t.Context())
	p := acceptPeer(t, r.peers)
	p.readStartup()
	p.write(replyFrame(0x10, 2, clientServer))
	l := newLocal(t, hang.Receive(t, "Dial", dial).ep)
	l.receives(1)
	l.start()
	p.sendMessage("unasked")
	l.wantMessage("unasked")
	l.send("late")
	p.want("Send", segment(onQueue(rdmap.OpSend, 1), "late"))
	l.Close()
	p.wantFIN()
}

// Anything from the peer ends the nudging. What is posted meanwhile is sent as usual.
func TestNudgeAnswered(t *testing.T) {
	p, l := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOn, NudgeAfter: time.Millisecond}).connect()
	l.receives(1)
	l.start()
	p.want("nudge", emptyWrite())
	p.sendMessage("here I am")
	l.wantMessage("here I am")
	l.send("second")
	nudges := 1
	for {
		got := string(p.segment())
		if got != string(emptyWrite()) {
			if want := string(segment(onQueue(rdmap.OpSend, 1), "second")); got != want {
				t.Fatalf("got %x, want %x", got, want)
			}
			break
		}
		if nudges++; nudges > maxNudges {
			t.Fatalf("%d nudges", nudges)
		}
	}
	l.Close()
	p.wantFIN()
}

// The listening end does not nudge: it may not send before the peer.
func TestNudgeListener(t *testing.T) {
	p, l := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOff, NudgeAfter: time.Nanosecond}).connect()
	l.receives(1)
	l.start()
	p.sendMessage("first")
	l.wantMessage("first")
	l.send("reply")
	p.wantMessage("reply")
	l.Close()
	p.wantFIN()
}
