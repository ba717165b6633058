package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// readSegments exposes the parts of a message as read segments of one position.
func (p *rawPeer) readSegments(position uint32, parts ...[]byte) (all []chunks.ReadSegment) {
	p.t.Helper()
	for _, b := range parts {
		s := chunks.ReadSegment{Position: position, Segment: p.expose(b, transport.RemoteRead)}
		all = append(all, s)
	}
	return all
}

// echoReply is a whole reply with items.
func echoReply(xid uint32, data ...[]byte) []byte {
	m := callMessage(xid, procEcho, &items{data: data, tail: 7})
	return append(replyHeader(xid), m.AppendTo(nil)[40:]...)
}

// nextDone checks that the next message is the RDMA_DONE for a reply, to the byte.
func (p *rawPeer) nextDone(xid, credits uint32) {
	p.t.Helper()
	want := be32(xid, 1, credits, 3)
	if m := wait(p.t, p.msgs); !bytes.Equal(m.b, want) {
		p.t.Errorf("message % x, want RDMA_DONE % x", m.b, want)
	}
}

// lastInfo is an Observer of the last call.
type lastInfo struct{ rpcrdma.CallInfo }

func (l *lastInfo) CallDone(info *rpcrdma.CallInfo) { l.CallInfo = *info }

// clientWorks makes a call: the next thing that the server sees is that, and its reply takes all
// credits back.
func clientWorks(t *testing.T, c *rpcrdma.Conn, p *rawPeer) {
	t.Helper()
	clientWorksBeside(t, c, p)
	if _, used, _ := c.Credits(); used != 0 {
		t.Errorf("%d credits in use", used)
	}
}

// clientWorksBeside makes a call while others are under way.
func clientWorksBeside(t *testing.T, c *rpcrdma.Conn, p *rawPeer) {
	t.Helper()
	s := start(t.Context(), c, &items{}, nil)
	h, body := p.next()
	if h.Type != rpcrdma.TypeMsg || len(body) < 8 {
		t.Fatalf("the server got %v, want the next call", h.Type)
	}
	p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
	if err := wait(t, s.err); err != nil {
		t.Errorf("next call: %v", err)
	}
}

// readAnswer is a reply under construction, with one item of readSize bytes.
type readAnswer struct {
	*rawPeer
	h    *rpcrdma.Header // the call's
	r    *rpcrdma.Header
	data []byte
	rest []byte // the message without the data
}

const readSize = 5001

// answerTo begins a reply.
func (p *rawPeer) answerTo(h *rpcrdma.Header, typ rpcrdma.Type) *readAnswer {
	return &readAnswer{p, h, header(h.XID, typ), pattern(1, readSize), result(h.XID, readSize)}
}

// reads adds a chunk that is to be read.
func (a *readAnswer) reads(position uint32, parts ...[]byte) {
	a.r.Reads = append(a.r.Reads, a.readSegments(position, parts...)...)
}

// leave sends the reply.
func (a *readAnswer) leave() {
	if a.r.Type == rpcrdma.TypeMsg {
		a.send(a.r, a.rest)
	} else {
		a.send(a.r)
	}
}

// TestClientReads: a raw server sends a real client replies to read, also with bad read lists. Then
// the call ends with a typed error, and the connection stays. The server always gets one RDMA_DONE,
// because it may hold memory for the reply. rpcrdma/matrix has every form that is allowed.
func TestClientReads(t *testing.T) {
	const msg, long = rpcrdma.TypeMsg, rpcrdma.TypeNoMsg
	tooLong := &oncrpc.ReplyTooLongError{Max: 65536}
	data := pattern(1, readSize)
	whole := func(a *readAnswer) []byte { return echoReply(a.h.XID, data) }
	bulk := func(position uint32, parts ...[]byte) func(a *readAnswer) {
		return func(a *readAnswer) { a.reads(position, parts...) }
	}
	for _, tt := range []struct {
		name  string
		typ   rpcrdma.Type // rest follows the header of an RDMA_MSG
		reply func(a *readAnswer)
		want  error
	}{
		{"bulk data", msg, bulk(36, data), nil},
		{"all at position zero", long, func(a *readAnswer) {
			a.reads(0, whole(a)[:30], whole(a)[30:])
		}, nil},
		{"overlap", msg, func(a *readAnswer) {
			a.reads(36, a.data)
			a.reads(40, a.data)
		}, chunks.ErrMalformed},
		{"position past the end", msg, bulk(44, data), chunks.ErrMalformed},
		{"position of no item", msg, bulk(28, data), xdr.ErrChunk},
		{"shorter than the stream says", msg, bulk(36, data[1:]), xdr.ErrChunk},
		{"longer than MaxMessage", msg, bulk(36, make([]byte, 65537)), tooLong},
		{"longer than MaxMessage with the chunk beside it", long, func(a *readAnswer) {
			a.reads(0, a.rest)
			a.reads(36, make([]byte, 65536))
		}, tooLong},
		{"long beside a message", msg, func(a *readAnswer) {
			a.reads(0, whole(a))
		}, rpcrdma.ErrMalformed},
		{"long beside a reply chunk in use", long, func(a *readAnswer) {
			a.r.SetReply(a.h.Reply)
			a.reads(0, whole(a))
		}, rpcrdma.ErrMalformed},
		{"no message", long, bulk(36, data), chunks.ErrMalformed},
		{"past the end of the message in the reply chunk", long, func(a *readAnswer) {
			a.writeChunk(a.h.Reply, a.rest)
			segs, _ := chunks.Distribute(nil, a.h.Reply, len(a.rest))
			a.r.SetReply(segs)
			a.reads(uint32(len(a.rest)+4), a.data)
		}, chunks.ErrMalformed},
		{"reply chunk longer than offered", long, func(a *readAnswer) {
			a.r.SetReply(a.h.Reply)
			a.r.Reply[0].Length = 1<<32 - 1
			a.reads(36, a.data)
		}, chunks.ErrMalformed},
		{"too short for a message", long, func(a *readAnswer) {
			a.reads(0, be32(a.h.XID))
		}, rpcrdma.ErrMalformed},
		{"long with another XID", long, func(a *readAnswer) {
			a.reads(0, echoReply(a.h.XID+1, a.data))
		}, rpcrdma.ErrXID},
		{"bytes left over", long, func(a *readAnswer) {
			a.reads(0, append(whole(a), 0, 0, 0, 0))
		}, oncrpc.ErrMalformedReply},
		{"another XID in the message", msg, func(a *readAnswer) {
			a.reads(36, a.data)
			a.rest[3]++
		}, rpcrdma.ErrXID},
		{"a write list that was not offered", msg, func(a *readAnswer) {
			a.r.AddWrite([]chunks.Segment{{Handle: 1, Length: 1}})
			a.reads(36, a.data)
		}, rpcrdma.ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			info := &lastInfo{}
			c, p := rawServer(t, rpcrdma.Config{Dialect: rpcrdma.Draft, MaxMessage: 65536,
				Observer: info}, inline4k)
			s := start(t.Context(), c, &items{data: [][]byte{pattern(1, readSize)}}, nil)
			h, _ := p.next()
			a := p.answerTo(h, tt.typ)
			tt.reply(a)
			a.leave()
			checkEnd(t, wait(t, s.err), tt.want)
			if tt.want == nil && (!bytes.Equal(s.reply.data[0], a.data) || info.ReplyRead == 0) {
				t.Errorf("result differs, or CallInfo.ReplyRead is %d", info.ReplyRead)
			}
			p.nextDone(h.XID, 64)
			clientWorks(t, c, p)
			if got := c.Stats(); got.DonesSent != 1 {
				t.Errorf("counters %+v", got)
			}
		})
	}
}

// TestClientMustNotRead: a client gets a read list that it cannot read, because the server serves
// no Reads or the connection can make none. The server still gets an RDMA_DONE.
func TestClientMustNotRead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		wrap  endpointWrapper
		reads int // that the server serves
	}{
		{"said so", sameEndpoint, 0},
		{"no ORD", func(ep transport.Endpoint) transport.Endpoint { return noReads{ep} }, 1},
	} {
		for _, typ := range []rpcrdma.Type{rpcrdma.TypeMsg, rpcrdma.TypeNoMsg} {
			t.Run(fmt.Sprintf("%s/%v", tt.name, typ), func(t *testing.T) {
				c, p := rawServerOn(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, inline4k, tt.wrap)
				if tt.reads == 0 {
					c.UpdateSettings(func(s *rpcrdma.Settings) { s.Reads = 0 })
				}
				s := start(t.Context(), c, &items{}, nil)
				h, _ := p.next()
				a := p.answerTo(h, typ)
				if typ == rpcrdma.TypeMsg {
					a.reads(36, a.data)
				} else {
					a.reads(0, a.rest)
				}
				a.leave()
				checkEnd(t, wait(t, s.err), transport.ErrNoReads)
				p.nextDone(h.XID, 64)
				clientWorks(t, c, p)
			})
		}
	}
}

// noReads is an endpoint that can make no Reads.
type noReads struct{ transport.Endpoint }

func (e noReads) Info() transport.Info {
	info := e.Endpoint.Info()
	info.ORD = 0
	return info
}

// TestCancelWhileReading gives up a call while the chunks of its reply are read. Reads that have
// begun continue, the RDMA_DONE follows the last one, and the caller's memory is not touched after
// the end of the call.
func TestCancelWhileReading(t *testing.T) {
	for _, long := range []bool{false, true} {
		made, hold := heldReads()
		c, p := rawServerOn(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, inline4k, hold)
		held := wait(t, made)
		if long {
			serveBack(t, c)
		}
		ctx, cancel := context.WithCancel(t.Context())
		land := make([]byte, readSize)
		s := start(ctx, c, &items{data: [][]byte{{1}}}, land)
		h, _ := p.next()
		a := p.answerTo(h, rpcrdma.TypeMsg)
		if long {
			a.r.Type = rpcrdma.TypeNoMsg
			m := echoReply(h.XID, a.data)
			a.reads(0, m[:100], m[100:])
		} else {
			a.reads(36, a.data[:2000], a.data[2000:])
		}
		a.leave()
		held.release(t, 1)
		waitFor(t, func() bool { return len(held.queue) == 1 })
		cancel()
		if err := wait(t, s.err); !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
		scribble(land)
		if len(p.msgs) > 0 {
			t.Error("the server got something before the Reads were complete")
		}
		held.release(t, 1)
		p.nextDone(h.XID, 64)
		clientWorks(t, c, p)
		untouched(t, land)
	}
}
