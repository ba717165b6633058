package iwarp_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// midPlace makes a peer stop in the middle of a segment of a Write, after the first part has been
// read. It returns the memory and the part that is missing.
func midPlace(t *testing.T, dialing bool, crc iwarp.CRC) (*peer, *local, transport.Region, []byte, []byte) {
	p, l := newRig(t, dialing, violationConfig(crc)).connect()
	l.start()
	alive(p, l)
	memory := make([]byte, 40000)
	w := l.expose(transport.RemoteWrite, memory[:15000], memory[15000:])
	fpdu := p.frame(segment(toSTag(rdmap.OpWrite, w.STag, w.Base), string(pattern(len(memory)))))
	received := func() uint64 {
		_, n, _ := iwarp.TrafficOf(l.Endpoint)
		return n
	}
	at := received()
	for _, part := range [][]byte{fpdu[:100], fpdu[100:20000]} {
		p.write(part)
		at += uint64(len(part))
		hang.Until(t, "a part of a segment", func() bool { return received() == at })
	}
	return p, l, w, memory, fpdu[20000:]
}

// wantFilled checks that memory is unchanged since fill.
func wantFilled(t *testing.T, memory []byte) {
	t.Helper()
	want := make([]byte, len(memory))
	fill(want)
	if !bytes.Equal(memory, want) {
		t.Error("the memory was written to")
	}
}

// TestAbandonPlacing abandons a window while a segment is arriving there. The caller has the memory
// back at once, and the peer does not notice.
func TestAbandonPlacing(t *testing.T) {
	eachSide(t, func(t *testing.T, dialing bool, crc iwarp.CRC) {
		p, l, w, memory, rest := midPlace(t, dialing, crc)
		if err := l.Abandon(w); err != nil {
			t.Fatal(err)
		}
		fill(memory)
		p.write(rest)
		alive(p, l)
		wantFilled(t, memory)
	})
}

// TestRevokePlacing revokes such a window. Nothing more is placed, and the peer gets an error.
func TestRevokePlacing(t *testing.T) {
	eachSide(t, func(t *testing.T, dialing bool, crc iwarp.CRC) {
		p, l, w, memory, rest := midPlace(t, dialing, crc)
		l.Revoke(w)
		fill(memory)
		p.write(rest)
		wantTerminated(t, l.ended(), rdmap.TaggedSTag, false, transport.ErrSTag)
		wantFilled(t, memory)
	})
}
