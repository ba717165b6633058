package iwarp_test

import (
	"bytes"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// readTagged reads and checks the segments of a tagged message that carries memory from start on.
// It returns how many bytes came, and the segment that came instead of the rest: nil if the message
// is complete or the stream has ended.
func (p *peer) readTagged(op rdmap.Opcode, start uint64, memory []byte) (n int, next []byte) {
	p.t.Helper()
	for {
		s, ok := p.next()
		if !ok {
			return n, nil
		}
		h, payload, err := ddp.Parse(s)
		if err != nil {
			p.t.Fatal(err)
		}
		if !h.Tagged {
			return n, s
		}
		if want := toSTag(op, h.STag, start+uint64(n)); with(h, func(h *ddp.Header) { h.Last = true }) != want {
			p.t.Fatalf("segment with header %+v, want %+v", h, want)
		}
		if n+len(payload) > len(memory) || !bytes.Equal(payload, memory[n:n+len(payload)]) {
			p.t.Fatalf("segment of %d bytes does not carry what is at %d of the memory",
				len(payload), n)
		}
		if n += len(payload); h.Last {
			return n, nil
		}
	}
}

// midRead makes a peer stop reading in the middle of the response to its Read of memory.
func midRead(t *testing.T, dialing bool, crc iwarp.CRC,
	memory []byte) (*rig, *peer, *local, transport.Region, []byte) {
	r := newRig(t, dialing, violationConfig(crc))
	p, l := r.connect()
	l.start()
	alive(p, l)
	w := l.expose(transport.RemoteRead, memory[:huge/3], memory[huge/3:])
	request := segment(onQueue(rdmap.OpReadRequest, 1), readRequest(w.STag, w.Base, len(memory)))
	p.send(request)
	l.blocked()
	return r, p, l, w, request
}

// TestAbandonMidway abandons a window in the middle of such a response. The caller has the memory
// back at once, and the peer gets its old content.
func TestAbandonMidway(t *testing.T) {
	eachSide(t, func(t *testing.T, dialing bool, crc iwarp.CRC) {
		memory := pattern(huge)
		old := bytes.Clone(memory)
		_, p, l, w, _ := midRead(t, dialing, crc, memory)
		if err := l.Abandon(w); err != nil {
			t.Fatal(err)
		}
		fill(memory)
		if n, next := p.readTagged(rdmap.OpReadResponse, 0x1000, old); n != huge || next != nil {
			t.Errorf("read %d bytes and % x, want %d", n, next, huge)
		}
		alive(p, l)
		// The tag still works, and shows the old content.
		p.send(segment(onQueue(rdmap.OpReadRequest, 2), readRequest(w.STag, w.Base+5, 6)))
		p.want("response", segment(toSTag(rdmap.OpReadResponse, 0x51417a6, 0x1000), string(old[5:11])))
		l.Revoke(w)
		p.send(segment(onQueue(rdmap.OpReadRequest, 3), readRequest(w.STag, w.Base+5, 6)))
		wantTerminated(t, l.ended(), rdmap.ProtectionSTag, false, transport.ErrSTag)
	})
}

// TestRevokeMidway revokes such a window. What was already sent arrives intact; then the peer is
// told that the window has ended.
func TestRevokeMidway(t *testing.T) {
	eachSide(t, func(t *testing.T, dialing bool, crc iwarp.CRC) {
		memory := pattern(huge)
		old := bytes.Clone(memory)
		r, p, l, w, request := midRead(t, dialing, crc, memory)
		l.Revoke(w)
		fill(memory)
		n, next := p.readTagged(rdmap.OpReadResponse, 0x1000, old)
		if n == 0 || n == huge {
			t.Errorf("read %d bytes, want some", n)
		}
		want := terminateSegment(terminateBytes(rdmap.ProtectionSTag, request, true, true))
		if diff := cmp.Diff(want, next); diff != "" {
			t.Errorf("Terminate (-want +got):\n%s", diff)
		}
		p.wantFIN()
		wantTerminated(t, l.ended(), rdmap.ProtectionSTag, false, transport.ErrSTag)
		r.wantCounters(map[string]int{"Connections": 1, "TerminatesSent": 1})
		r.log.want(t, 1, "connection terminated", "window ended", p.conn.LocalAddr().String())
	})
}

// TestInvalidateMidway makes the peer itself invalidate such a window.
func TestInvalidateMidway(t *testing.T) {
	memory := pattern(huge)
	old := bytes.Clone(memory)
	r := newRig(t, false, violationConfig(iwarp.CRCOn))
	p, l := r.connect()
	l.receives(1)
	l.start()
	w := l.expose(transport.RemoteRead|transport.RemoteInvalidate, memory)
	p.send(segment(onQueue(rdmap.OpReadRequest, 1), readRequest(w.STag, w.Base, len(memory))))
	l.blocked()
	p.send(segment(with(onQueue(rdmap.OpSendInvalidate, 1), func(h *ddp.Header) { h.ULP = uint32(w.STag) }), "done with it"))
	// The message may not be delivered, because the resulting end of the connection can be faster.
	// Either way the window has ended.
	select {
	case got := <-l.messages:
		if want := "done with it"; got != want {
			t.Errorf("received %q, want %q", got, want)
		}
	case <-l.Done():
	case <-time.After(patience):
		t.Fatal("the message does not come")
	}
	fill(memory)
	if n, next := p.readTagged(rdmap.OpReadResponse, 0x1000, old); n == 0 || n == huge || next == nil {
		t.Errorf("read %d bytes and % x, want some, and a Terminate", n, next)
	}
	p.wantFIN()
	wantTerminated(t, l.ended(), rdmap.ProtectionSTag, false, transport.ErrSTag)
}

// TestCloseMidway closes in the middle of a Write, a Read Response, and Sends. The partly sent
// segment is completed from a copy, and the end of the stream follows.
func TestCloseMidway(t *testing.T) {
	for _, tt := range []struct {
		name  string
		op    rdmap.Opcode
		start uint64
		play  func(p *peer, l *local, memory []byte)
	}{
		{"Write", rdmap.OpWrite, 9, func(_ *peer, l *local, memory []byte) {
			l.post(&transport.WorkRequest{Op: transport.OpWrite, Local: slices(memory[:5], memory[5:]), Remote: transport.Remote{STag: 1, Offset: 9}})
		}},
		{"Read Response", rdmap.OpReadResponse, 0x1000, func(p *peer, l *local, memory []byte) {
			w := l.expose(transport.RemoteRead, memory)
			p.send(segment(onQueue(rdmap.OpReadRequest, 1), readRequest(w.STag, w.Base, len(memory))))
		}},
	} {
		eachSide(t, func(t *testing.T, dialing bool, crc iwarp.CRC) {
			t.Run(tt.name, func(t *testing.T) {
				p, l := newRig(t, dialing, violationConfig(crc)).connect()
				l.start()
				alive(p, l)
				memory := pattern(huge)
				old := bytes.Clone(memory)
				tt.play(p, l, memory)
				l.blocked()
				l.send("never sent")
				l.Close()
				if err := l.ended(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("got error %v, want %v", err, net.ErrClosed)
				}
				fill(memory)
				n, next := p.readTagged(tt.op, tt.start, old)
				if n == 0 || n == huge || next != nil {
					t.Errorf("read %d bytes and % x, want some bytes and the end of the stream", n,
						next)
				}
			})
		})
	}
}

// fill overwrites memory, as for another use.
func fill(memory []byte) {
	copy(memory, bytes.Repeat([]byte{0xee}, len(memory)))
}
