package iwarp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// again posts its request whenever it completes.
type again struct{ ep transport.Endpoint }

func (a again) Complete(wr *transport.WorkRequest, err error) {
	if err == nil {
		_ = a.ep.Post(wr) // has no effect after the end
	}
}

// An upper layer that posts from its completions for ever does not stop the receiving, and Poll
// returns.
func TestCompletionsForEver(t *testing.T) {
	r := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOff})
	p, l := r.connect()
	go io.Copy(io.Discard, p.conn)
	l.receives(20)
	l.start()
	p.sendMessage("first")
	l.wantMessage("first")
	for range 4 {
		wr := &transport.WorkRequest{Op: transport.OpWrite, Flags: transport.Signaled, Local: slices(make([]byte, 8)), Done: again{l.Endpoint}}
		if err := l.Post(wr); err != nil {
			t.Fatal(err)
		}
	}
	for range 19 {
		l.Poll()
		p.sendMessage("next")
		l.wantMessage("next")
	}
	l.Close()
	l.ended()
}

// sendZeros sends the beginning of the first Send: n zeros. There are many, so there is no CRC.
func (p *peer) sendZeros(n int) {
	p.t.Helper()
	const each, batch = 65516, 16 // payload of a segment, segments of a write
	first := p.frame(segment(with(onQueue(rdmap.OpSend, 1), more), string(make([]byte, each))))
	b := bytes.Repeat(first, batch)
	mo := 0
	for n-mo >= batch*each {
		for i := range batch {
			// After the length and 14 bytes of header.
			binary.BigEndian.PutUint32(b[i*len(first)+16:], uint32(mo))
			mo += each
		}
		p.conn.SetDeadline(time.Now().Add(patience))
		p.write(b)
	}
	for ; mo < n; mo += min(each, n-mo) {
		h := with(with(onQueue(rdmap.OpSend, 1), more), offset(uint32(mo)))
		p.send(segment(h, string(make([]byte, min(each, n-mo)))))
	}
}

// A message has at most 4 GiB less one byte.
func TestMessageLimit(t *testing.T) {
	if raceDetector {
		t.Skip("4 GiB, of which one goroutine places every byte: what races is found with less")
	}
	p, l := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff}).connect()
	piece := make([]byte, 1<<20)
	var list []transport.Slice
	for range 1 << 12 {
		list = append(list, transport.Slice{Bytes: piece})
	}
	for _, op := range []transport.Op{transport.OpSend, transport.OpWrite, transport.OpRead} {
		err := l.Post(&transport.WorkRequest{Op: op, Local: list, Done: l})
		if !errors.Is(err, transport.ErrWorkRequest) {
			t.Errorf("%v of 4 GiB: got error %v, want %v", op, err, transport.ErrWorkRequest)
		}
	}
	// A receive may be longer. The rest of it cannot be reached.
	if err := l.PostRecv(&transport.RecvRequest{Local: list}); err != nil {
		t.Fatal(err)
	}
	l.start()
	const limit = 1<<32 - 1
	p.sendZeros(limit - 1)
	last := segment(with(onQueue(rdmap.OpSend, 1), offset(limit-1)), "ab")
	p.send(last)
	wantTerminated(t, l.ended(), rdmap.UntaggedTooLong, false, transport.ErrTooLong)
	p.wantTerminate(terminateBytes(rdmap.UntaggedTooLong, last, true, false))
}

// A peer that never completes the setup of a peer-to-peer connection is given up.
func TestRTRLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := iwarp.Config{CRC: iwarp.CRCOff, PeerToPeer: true, HandshakeTimeout: shortStartup}
		r := newVirtualRig(t, false, cfg)
		p, l := r.connectAs(peerToPeer)
		l.start()
		l.send("held back")
		if err := l.ended(); !errors.Is(err, mpa.ErrStalled) {
			t.Errorf("got error %v, want %v", err, mpa.ErrStalled)
		}
		p.wantEnd()
		r.wantCounters(map[string]int{"Connections": 1, "Stalls": 1})
		r.log.want(t, 1, "ready-to-receive")
	})
}
