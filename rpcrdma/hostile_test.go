package rpcrdma_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// deafPeer connects a client that takes nothing: its calls arrive, but neither RDMA Reads nor
// replies get to it. It has one call answered, as far as it goes, and so has 64 credits.
func (r *rig) deafPeer() (transport.Endpoint, *rpcrdma.Conn) {
	r.t.Helper()
	ep := r.endpoint(inline4k)
	r.t.Cleanup(func() { ep.Close() })
	h := header(1, rpcrdma.TypeMsg)
	h.Credits = 64
	shout(r.t, ep, append(h.Append(nil), callBytes(1, procNull, nil)...))
	conn := wait(r.t, r.program.conns)
	waitFor(r.t, func() bool { return r.ledgers.of(r.t, conn).state().Awaited >= 64 })
	return ep, conn
}

// shout sends a message from an endpoint that takes nothing.
func shout(t testing.TB, ep transport.Endpoint, b []byte) {
	t.Helper()
	(&rawPeer{t: t, ep: ep}).sendBytes(b)
}

// TestStalledReads: peers take no reply, and perhaps make calls with arguments to fetch, and never
// answer the RDMA Reads. Others are not held up, and the calls end.
func TestStalledReads(t *testing.T) {
	for _, calls := range []int{0, 64} {
		t.Run(fmt.Sprint(calls), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, rpcrdma.Config{PeerTimeout: 500 * time.Millisecond})
				var conns []*rpcrdma.Conn
				for range 5 { // 5 x 64 calls are more than the server has workers
					ep, conn := r.deafPeer()
					conns = append(conns, conn)
					for xid := range uint32(calls) {
						m := callMessage(100+xid, procSink, &items{data: [][]byte{make([]byte, 8)}})
						h := header(100+xid, rpcrdma.TypeMsg)
						h.Credits = 64
						h.Reads = []chunks.ReadSegment{{
							Position: uint32(m.Bulk[0].Position), Segment: chunks.Segment{Handle: 1, Length: 8},
						}}
						shout(t, ep, append(h.Append(nil), m.Inline...))
					}
				}
				waitFor(t, func() bool { return r.server.Stats().InFlight == 5*(calls+1) })
				c := r.dial(rpcrdma.Config{})
				if err := client(c).Call(t.Context(), procSink, &items{data: [][]byte{{1}}}, nil); err != nil {
					t.Errorf("an innocent client: %v", err)
				}
				for _, conn := range conns {
					ended(t, conn)
					if err := conn.Err(); !errors.Is(err, rpcrdma.ErrStalled) {
						t.Errorf("ended with %v", err)
					}
				}
				waitFor(t, func() bool { return r.server.Stats().InFlight == 0 })
			})
		})
	}
}

// sendFails is an endpoint that refuses to post anything when told so.
type sendFails struct {
	transport.Endpoint
	fails chan struct{} // closed: fail from now on
}

var errPost = errors.New("not posted")

func (e sendFails) Post(wrs ...*transport.WorkRequest) error {
	select {
	case <-e.fails:
		return errPost
	default:
		return e.Endpoint.Post(wrs...)
	}
}

// TestReplyNotPosted: a server's endpoint refuses to post a reply, or an RDMA_ERROR. The connection
// ends, so that the client learns of it (rfc8166-4.5.4-2).
func TestReplyNotPosted(t *testing.T) {
	for _, msg := range [][]byte{withCall(lists(rdmaMsg, none))(9), head(77)(9)} {
		fails := make(chan struct{})
		wrap := func(ep transport.Endpoint) transport.Endpoint { return sendFails{ep, fails} }
		r := newRigOn(t, rpcrdma.Config{}, loopback.Config{}, wrap)
		p := r.raw(inline4k)
		p.alive()
		conn := wait(t, r.program.conns)
		close(fails)
		p.sendBytes(msg)
		ended(t, conn)
		if err := conn.Err(); !errors.Is(err, errPost) {
			t.Errorf("message %x: ended with %v, want what Post said", msg, err)
		}
		wait(t, p.ep.Done())
	}
}
