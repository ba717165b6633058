package iwarp_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// reencoder sends the messages of a captured stream again, from an endpoint to a peer.
type reencoder struct {
	p     *peer
	l     *local
	reads uint32 // of the peer's
}

func newReencoder(t *testing.T, crc bool) *reencoder {
	cfg := iwarp.Config{CRC: iwarp.CRCOff, MaxSegment: siwMULPDU}
	if crc {
		cfg.CRC = iwarp.CRCOn
	}
	p, l := newRig(t, true, cfg).connect()
	return &reencoder{p: p, l: l.start()}
}

// want sends a message, and compares its FPDUs.
func (e *reencoder) want(m *capturedMessage, fpdus []capturedFPDU) {
	e.p.t.Helper()
	local := scatter(m.payload)
	tagged := transport.Remote{STag: m.header.STag, Offset: m.header.Offset}
	switch m.op {
	case rdmap.OpWrite:
		e.l.post(&transport.WorkRequest{Op: transport.OpWrite, Remote: tagged, Local: local})
	case rdmap.OpSend:
		e.l.post(&transport.WorkRequest{Op: transport.OpSend, Local: local})
	case rdmap.OpSendInvalidate:
		tag := transport.STag(m.header.ULP)
		e.l.post(&transport.WorkRequest{Op: transport.OpSendInvalidate, Invalidate: tag, Local: local})
	case rdmap.OpReadRequest:
		e.wantRead(m)
		return
	case rdmap.OpReadResponse:
		w := transporttest.Expose(e.p.t, e.l, local, transport.RemoteRead)
		defer e.l.Revoke(w)
		e.reads++
		r := rdmap.ReadRequest{
			SinkSTag: tagged.STag, SinkOffset: tagged.Offset, Len: uint32(len(m.payload)),
			SourceSTag: w.STag, SourceOffset: w.Base,
		}
		e.p.send(segment(onQueue(rdmap.OpReadRequest, e.reads), string(r.Append(nil))))
	default:
		e.p.t.Fatalf("%v: a kind of message that is in no capture", m.op)
	}
	for _, f := range fpdus {
		want := f.canonical(e.p.crc)
		if got := e.p.read(len(want)); !bytes.Equal(got, want) {
			e.p.t.Fatalf("FPDU at %d, %v: got % x..., want % x...", f.start, f.op, got[:min(len(got), 64)], want[:min(len(want), 64)])
		}
	}
}

// wantRead sends a Read Request, and answers it. It compares all but the sink, which the endpoint
// chooses.
func (e *reencoder) wantRead(m *capturedMessage) {
	e.p.t.Helper()
	want := mustReadRequest(e.p.t, m.payload)
	e.l.post(&transport.WorkRequest{
		Op: transport.OpRead, Flags: transport.Signaled, Local: scatter(make([]byte, want.Len)),
		Remote: transport.Remote{STag: want.SourceSTag, Offset: want.SourceOffset},
	})
	got := e.p.wantReadRequest(m.header.MSN)
	want.SinkSTag, want.SinkOffset = got.SinkSTag, got.SinkOffset
	if got != want {
		e.p.t.Errorf("Read Request at %d: got %+v, want %+v", m.start, got, want)
	}
	for at, n := 0, int(got.Len); ; at += siwMULPDU {
		if n-at <= siwMULPDU {
			e.p.send(segment(response(got, uint64(at)), string(make([]byte, n-at))))
			break
		}
		e.p.send(segment(with(response(got, uint64(at)), more), string(make([]byte, siwMULPDU))))
	}
	if err := hang.Receive(e.p.t, "completion", e.l.completions); err != nil {
		e.p.t.Errorf("Read: %v", err)
	}
}

// scatter cuts p in pieces of odd lengths.
func scatter(p []byte) (list []transport.Slice) {
	for n := 1; len(p) > 0; n = 3*n + 2 {
		n = min(n, len(p))
		list, p = append(list, transport.Slice{Bytes: p[:n:n]}), p[n:]
	}
	return list
}
