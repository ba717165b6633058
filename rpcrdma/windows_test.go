package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// windowKind is memory of a call that its server may use in one way.
type windowKind struct {
	name   string
	result bool // the result has a buffer
	op     transport.Op
	chunk  func(h *rpcrdma.Header) chunks.Segment
}

var windowKinds = []windowKind{
	{"read chunk", false, transport.OpRead,
		func(h *rpcrdma.Header) chunks.Segment { return h.Reads[0].Segment }},
	{"write chunk", true, transport.OpWrite,
		func(h *rpcrdma.Header) chunks.Segment { return h.Writes[0][0] }},
	{"reply chunk", false, transport.OpWrite,
		func(h *rpcrdma.Header) chunks.Segment { return h.Reply[0] }},
}

// windowCall is a call with a window of some kind.
type windowCall struct {
	*started
	t    *testing.T
	c    *rpcrdma.Conn
	p    *rawPeer
	h    *rpcrdma.Header
	kind windowKind
	args []byte
	mem  []byte // for the result; its capacity is larger
}

func (kind windowKind) call(t *testing.T, wrap endpointWrapper) *windowCall {
	t.Helper()
	const size = 9001
	w := &windowCall{t: t, kind: kind, args: pattern(1, size), mem: make([]byte, size, size+8)}
	w.c, w.p = rawServerOn(t, rpcrdma.Config{CancelGrace: time.Millisecond}, inline4k, wrap)
	var result []byte
	if kind.result {
		result = w.mem
	}
	w.started = start(t.Context(), w.c, &items{data: [][]byte{w.args}}, result)
	w.h, _ = w.p.next()
	return w
}

// reply answers the call, with a result of no bytes.
func (w *windowCall) reply() {
	w.t.Helper()
	r := header(w.h.XID, rpcrdma.TypeMsg)
	for _, c := range w.h.Writes {
		segs, _ := chunks.Distribute(nil, c, 0)
		r.AddWrite(segs)
	}
	w.p.send(r, replyHeader(w.h.XID), be32(0, 7))
}

// reach has the server reach for memory that it must not get at: that ends the connection for the
// reason want, and changes nothing.
func (w *windowCall) reach(op transport.Op, more uint32, want error) {
	w.t.Helper()
	s := w.kind.chunk(w.h)
	s.Length += more
	wr := transport.WorkRequest{
		Op:     op,
		Remote: transport.Remote{STag: transport.STag(s.Handle), Offset: s.Offset},
		Local:  []transport.Slice{{Bytes: bytes.Repeat([]byte{0xee}, int(s.Length))}},
		Done:   make(completer, 1),
	}
	if err := w.p.ep.Post(&wr); err != nil {
		w.t.Fatal(err)
	}
	ended(w.t, w.c)
	if err := w.c.Endpoint().Err(); !errors.Is(err, want) {
		w.t.Errorf("ended with %v, want %v", err, want)
	}
	all := w.mem[:cap(w.mem)]
	if more > 0 {
		all = all[len(w.mem):]
	}
	if !bytes.Equal(all, make([]byte, len(all))) || !bytes.Equal(w.args, pattern(1, len(w.args))) {
		w.t.Error("the memory has changed")
	}
}

// TestWindowsEnd accesses memory of a call where the peer must not: after the data (rpcrdma-3.7-5),
// and after the reply (rpcrdma-3.5-2).
func TestWindowsEnd(t *testing.T) {
	for name, wrap := range map[string]endpointWrapper{
		"all": sameEndpoint, "minimum": withoutAbilities,
	} {
		for _, kind := range windowKinds {
			t.Run(name+"/"+kind.name+"/behind the data", func(t *testing.T) {
				w := kind.call(t, wrap)
				w.reach(kind.op, 1, transport.ErrBounds)
				if wait(t, w.err) == nil {
					t.Error("the call has a reply")
				}
			})
			t.Run(name+"/"+kind.name+"/after the reply", func(t *testing.T) {
				w := kind.call(t, wrap)
				w.reply()
				if err := wait(t, w.err); err != nil {
					t.Fatal(err)
				}
				w.reach(kind.op, 0, transport.ErrSTag)
			})
		}
	}
}

// TestWindowRights: a server writes to read chunks and reads write chunks of a call. Both are
// refused (rfc5042-6.3.5-1).
func TestWindowRights(t *testing.T) {
	for _, kind := range windowKinds {
		t.Run(kind.name, func(t *testing.T) {
			w := kind.call(t, sameEndpoint)
			other := map[transport.Op]transport.Op{
				transport.OpRead: transport.OpWrite, transport.OpWrite: transport.OpRead,
			}
			w.reach(other[kind.op], 0, transport.ErrAccess)
			if wait(t, w.err) == nil {
				t.Error("the call has a reply")
			}
		})
	}
}

// windowStays is an endpoint whose windows cannot be ended.
type windowStays struct{ transport.Endpoint }

func (windowStays) Revoke(...transport.Region) error { return transport.ErrNoMemory }
func (windowStays) Abandon(transport.Region) error   { return transport.ErrNoMemory }

// TestRevokeFails: the windows of a call cannot be ended after its reply, or when its caller gives
// up. The connection has ended before the call returns (rfc8166-4.5.4-1).
func TestRevokeFails(t *testing.T) {
	wrap := func(ep transport.Endpoint) transport.Endpoint { return windowStays{ep} }
	for _, answered := range []bool{true, false} {
		c, p := rawServerOn(t, rpcrdma.Config{CancelGrace: time.Millisecond}, inline4k, wrap)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		args := &items{data: [][]byte{make([]byte, 9000)}}
		s := start(ctx, c, args, make([]byte, 9000))
		h, _ := p.next()
		if answered {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.AddWrite(h.Writes[0])
			p.send(r, result(h.XID, 9000))
			wait(t, s.err)
		} else {
			cancel()
			checkEnd(t, wait(t, s.err), context.Canceled)
		}
		select {
		case <-c.Endpoint().Done():
		default:
			t.Error("the call returned while the peer can reach its memory")
		}
		if err := c.Err(); answered && !errors.Is(err, transport.ErrNoMemory) {
			t.Errorf("ended with %v, want ErrNoMemory", err)
		}
	}
}
