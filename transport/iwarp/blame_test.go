package iwarp_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// The RDMA Read that the peer blames fails for that reason. Those before and after it are flushed.
func TestBlame(t *testing.T) {
	p, l := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff}).connect()
	l.start()
	var requests []byte
	for i := range 2 { // the peer's IRD
		l.post(&transport.WorkRequest{
			Op: transport.OpRead, Local: slices(make([]byte, 4)), Remote: transport.Remote{STag: 1, Offset: uint64(i)},
		})
		requests = p.segment()
	}
	l.post(&transport.WorkRequest{Op: transport.OpRead, Local: slices(make([]byte, 4))})
	p.send(terminateSegment(terminateBytes(rdmap.ProtectionSTag, requests, true, true)))
	for i, flushed := range []bool{true, false, true} {
		err := hang.Receive(t, "completion", l.completions)
		if !errors.Is(err, transport.ErrSTag) || errors.Is(err, transport.ErrFlushed) != flushed {
			t.Errorf("read %d: got %v, flushed: want %v", i, err, flushed)
		}
		var op *transport.OpError
		if !flushed && (!errors.As(err, &op) || op.Op != "read") {
			t.Errorf("read %d: got %v, want that of a read", i, err)
		}
	}
	if err := l.ended(); !errors.Is(err, transport.ErrSTag) {
		t.Error(err)
	}
}
