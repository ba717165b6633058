package sctp

import (
	"encoding/binary"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// TestAssociationEnds: when an association ends, the consumers of all its sessions are told (RFC
// 5043 section 11.3).
func TestAssociationEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, first := accepted(t, Config{})
		p.says(1, ppidControl, "0000 0001")
		c := <-p.offered
		readFrame(t, c, false)
		if err := c.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
			t.Fatal(err)
		}
		p.says(2, ppidControl, "0000 0001")
		waits := <-p.offered
		readFrame(t, waits, false)
		p.wantHeard("1 17: 00000002")
		(*fakeAssociation)(p).Abort("")
		<-p.a.over
		for i, l := range []ddp.LLP{first, c.LLP(time.Minute)} {
			if err := l.Receive(new(sink)); err != io.EOF {
				t.Errorf("stream %d: got error %v, want that of the association", i, err)
			}
			l.Close(true)
		}
		if err := waits.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != io.EOF {
			t.Errorf("in its setup: got error %v, want that of the association", err)
		}
		waits.Close()
	})
}

// TestSameNumber: INIT and INIT ACK have equal numbers of outbound and inbound streams, on every
// association (RFC 5043 section 8).
func TestSameNumber(t *testing.T) {
	for _, streams := range []int{0, 1, 7, 1<<16 - 1} {
		cfg, err := Config{Streams: streams}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		want := streams
		if want == 0 {
			want = DefaultStreams
		}
		if i := cfg.initiation(); int(i.out) != want || i.out != i.in {
			t.Errorf("%d out, %d in, want %d each", i.out, i.in, want)
		}
		// Both directions use the same number of streams.
		for _, theirs := range []initiation{{out: 3, in: 5}, {out: 5, in: 3}} {
			if n := cfg.usable(cfg.initiation(), theirs); int(n) != min(want, 3) {
				t.Errorf("%d streams are used with %d out and %d in, want %d", n, theirs.out, theirs.in,
					min(want, 3))
			}
		}
	}
}

// TestOneAddress: INIT and INIT ACK list no addresses, so an endpoint has the one that its packets
// come from (RFC 5043 section 7.2). Both have the indication (section 5.1).
func TestOneAddress(t *testing.T) {
	s, _, sent := newTestSocket(t)
	init := s.cfg.initiation()
	p := header{src: 7, dst: 2}.append(nil)
	s.packet(seal(appendChunk(p, chunkInit, 0, init.append(nil))), linkPeer)
	if len(sent.sent) != 1 {
		t.Fatalf("sent %q, want an INIT ACK", sent.sent)
	}
	ack, _ := nextChunk(unhex(t, sent.sent[0])[headerLen:])
	if !ack.is(chunkInitAck) {
		t.Fatalf("sent %q, want an INIT ACK", sent.sent)
	}
	for name, c := range map[string]struct {
		value []byte
		kinds []uint16
	}{
		"INIT":     {init.append(nil), []uint16{paramAdaptation}},
		"INIT ACK": {ack.value(), []uint16{paramStateCookie, paramAdaptation}},
	} {
		var kinds []uint16
		for rest := c.value[initLen:]; len(rest) > 0; {
			q, next, ok := nextParameter(rest)
			if !ok {
				t.Fatalf("%s: %x", name, c.value)
			}
			if kinds = append(kinds, q.kind); q.kind == paramAdaptation &&
				binary.BigEndian.Uint32(q.value) != 1 {
				t.Errorf("%s: indication %x", name, q.value)
			}
			rest = next
		}
		if fmt.Sprint(kinds) != fmt.Sprint(c.kinds) {
			t.Errorf("%s has the parameters %x, want %x", name, kinds, c.kinds)
		}
	}
}
