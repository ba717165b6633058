package iwarp_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// TestNoByteBeforeItsTime has a listening end with much to send. It sends nothing before the first
// FPDU has come (RFC 5044 section 7.1.2), and then everything, in order.
func TestNoByteBeforeItsTime(t *testing.T) {
	for _, first := range []struct {
		name    string
		p2p     bool
		segment []byte
		fpdus   int // FPDUs in response to it, before any others
	}{
		{"Write", false, segment(toSTag(rdmap.OpWrite, 1, 0), ""), 0},
		{"RTR by Write", true, segment(toSTag(rdmap.OpWrite, 1, 0), ""), 0},
		{"RTR by Send", true, segment(onQueue(rdmap.OpSend, 1), ""), 0},
	} {
		t.Run(first.name, func(t *testing.T) {
			p, l := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOn, PeerToPeer: first.p2p}).connect()
			write := func(data string) *transport.WorkRequest {
				return &transport.WorkRequest{Op: transport.OpWrite, Remote: transport.Remote{STag: 3, Offset: 4}, Local: slices([]byte(data)), Flags: transport.Signaled}
			}
			l.post(write("before Start"))
			l.send("Send before Start")
			l.start()
			l.send("Send after Start")
			l.post(write("after Start"))
			l.post(&transport.WorkRequest{Op: transport.OpRead, Remote: transport.Remote{STag: 3, Offset: 4}, Local: slices(make([]byte, 8))})
			l.Poll()

			// Half an FPDU does not count.
			fpdu := p.frame(first.segment)
			p.write(fpdu[:len(fpdu)-1])
			l.Poll()
			// An empty socket does not prove that nothing was sent. But an early byte would arrive
			// before the answer to the last byte of the first FPDU, which follows.
			p.wantSilence()
			p.write(fpdu[len(fpdu)-1:])
			p.want("first", segment(toSTag(rdmap.OpWrite, 3, 4), "before Start"))
			p.wantMessage("Send before Start")
			p.wantMessage("Send after Start")
			p.want("fourth", segment(toSTag(rdmap.OpWrite, 3, 4), "after Start"))
			p.wantReadRequest(1)
			for range 2 {
				if err := hang.Receive(t, "completion", l.completions); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// wantSilence expects that there is nothing to read. It gives our end a little time to send
// something wrong. A slow machine cannot make it fail.
func (p *peer) wantSilence() {
	p.t.Helper()
	p.conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	var b [64]byte
	if n, err := p.conn.Read(b[:]); n > 0 || !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
		p.t.Errorf("peer: read %d bytes and %v, want silence: % x", n, err, b[:n])
	}
	p.conn.SetReadDeadline(time.Now().Add(patience))
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// An endpoint that has received nothing also sends nothing when it ends.
func TestCloseBeforeFirst(t *testing.T) {
	p, l := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOff}).connect()
	l.start()
	l.send("never sent")
	l.Close()
	p.wantFIN()
	if err := l.ended(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got error %v, want %v", err, net.ErrClosed)
	}
}
