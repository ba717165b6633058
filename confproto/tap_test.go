package confproto

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// The ends of a connection, and the kinds of messages.
const (
	dialing, accepting = 0, 1
	call, reply        = 0, 1
)

// sent is a work request of an end.
type sent struct {
	end  int
	op   transport.Op
	n    int // bytes
	typ  rpcrdma.Type
	kind int
	body []byte // the first bytes of the RPC message, if it is in the Send
}

// conf reports whether it is a call of CONF_RDMA.
func (s *sent) conf() bool {
	return s.kind == call && word(s.body, 3) == Program && word(s.body, 5) == ProcConfigure
}

// tap records what the two ends of a connection post, and their CONF_RDMA messages. It fails the
// test if a message is longer than the other end has announced to accept. It keeps the provider's
// optional interfaces.
type tap struct {
	t      *testing.T
	posted bool // receives are

	mu    sync.Mutex // guards what follows
	takes [2][2]int  // by end and kind: the largest message that it has named
	asked [2]map[uint32]bool
	most  [2][2]int // by end and kind: the largest that it has sent
	first []sent    // the first few
}

func newTap(t *testing.T, initial int) *tap {
	tp := &tap{t: t}
	for end := range tp.takes {
		tp.takes[end], tp.asked[end] = [2]int{initial, initial}, map[uint32]bool{}
	}
	return tp
}

// word returns a word of a message, or 0 beyond its end.
func word(b []byte, i int) uint32 {
	if len(b) < 4*i+4 {
		return 0
	}
	return binary.BigEndian.Uint32(b[4*i:])
}

// post looks at a work request of an end.
func (tp *tap) post(end int, wr *transport.WorkRequest) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	s := sent{end: end, op: wr.Op, n: transport.TotalLen(wr.Local)}
	if wr.Op == transport.OpSend || wr.Op == transport.OpSendInvalidate {
		tp.message(&s, wr.Local[0].Bytes)
	}
	if len(tp.first) < 16 {
		tp.first = append(tp.first, s)
	}
}

// message looks at a Send; tp.mu is held.
func (tp *tap) message(s *sent, b []byte) {
	var h rpcrdma.Header
	n, err := h.Parse(b)
	if err != nil {
		tp.t.Errorf("end %d sends %x: %v", s.end, b[:min(len(b), 64)], err)
		return
	}
	s.typ = h.Type
	// of what has no message that would tell
	limit := max(tp.takes[1-s.end][call], tp.takes[1-s.end][reply])
	if h.Type == rpcrdma.TypeMsg || h.Type == rpcrdma.TypeMsgP {
		s.body = append([]byte(nil), b[n:min(len(b), n+64)]...)
		s.kind = int(word(s.body, 1))
		limit = tp.takes[1-s.end][s.kind]
		tp.most[s.end][s.kind] = max(tp.most[s.end][s.kind], s.n)
	}
	if s.n > limit {
		tp.t.Errorf("end %d sends %v of kind %d, %d bytes long; %d is what the other end takes", s.end, h.Type, s.kind, s.n, limit)
	}
	takes, xid := &tp.takes[s.end], h.XID
	switch {
	case s.typ != rpcrdma.TypeMsg:
	case s.conf():
		tp.asked[s.end][xid] = true
		takes[reply] = max(takes[reply], int(word(s.body, 11)))
	case s.kind == reply && tp.asked[1-s.end][xid]:
		delete(tp.asked[1-s.end], xid)
		takes[call] = max(takes[call], int(word(s.body, 6)))
	}
}

// seen returns the first work requests, and the largest messages.
func (tp *tap) seen() (first []sent, most [2][2]int) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return append(first, tp.first...), tp.most
}

func (tp *tap) String() string {
	_, most := tp.seen()
	return fmt.Sprintf("the largest call and reply of the client: %d, of the server: %d", most[dialing], most[accepting])
}

// tapped is an endpoint with a tap on it.
type tapped struct {
	transporttest.FullEndpoint
	tap *tap
	end int
}

// on puts the tap on an endpoint.
func (tp *tap) on(ep transport.Endpoint, end int) transport.Endpoint {
	e := tapped{ep.(transporttest.FullEndpoint), tp, end}
	if tp.posted {
		return transporttest.WithoutSharedReceives(e)
	}
	return e
}

func (p tapped) Post(wrs ...*transport.WorkRequest) error {
	p.look(wrs)
	return p.FullEndpoint.Post(wrs...)
}

func (p tapped) PostPolled(wrs ...*transport.WorkRequest) error {
	p.look(wrs)
	return p.FullEndpoint.PostPolled(wrs...)
}

func (p tapped) look(wrs []*transport.WorkRequest) {
	for _, wr := range wrs {
		p.tap.post(p.end, wr)
	}
}

// tapped returns the provider with a tap on its connections.
func (p provider) tapped(tp *tap) provider {
	tp.posted = p.posted && !p.device
	return provider{p.name, p.posted, p.device, func(t *testing.T, serverReads, clientReads int) (
		transport.Listener, transport.Dialer) {
		l, d := p.make(t, serverReads, clientReads)
		return transport.WrapListener(l, func(ep transport.Endpoint) transport.Endpoint { return tp.on(ep, accepting) }),
			transport.WrapDialer(d, func(ep transport.Endpoint) transport.Endpoint { return tp.on(ep, dialing) })
	}}
}
