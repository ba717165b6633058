package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// counted returns what has been counted between two looks.
func counted(before, after rpcrdma.Stats) rpcrdma.Stats {
	return combine(after, before, func(a, b uint64) uint64 { return a - b })
}

// sum returns the sums of two sets of counters.
func sum(s, more rpcrdma.Stats) rpcrdma.Stats {
	return combine(s, more, func(a, b uint64) uint64 { return a + b })
}

func combine(s, other rpcrdma.Stats, f func(a, b uint64) uint64) rpcrdma.Stats {
	a, b := reflect.ValueOf(&s).Elem(), reflect.ValueOf(other)
	for i := range a.NumField() {
		a.Field(i).SetUint(f(a.Field(i).Uint(), b.Field(i).Uint()))
	}
	return s
}

// malformedConfig is that of who gets the malformed messages.
func malformedConfig(d rpcrdma.Dialect) rpcrdma.Config {
	return rpcrdma.Config{Dialect: d, InlineRecv: bigReceive, MaxMessage: smallMessage}
}

// nextBytes returns the next message that arrives, as it is.
func (p *rawPeer) nextBytes() []byte {
	p.t.Helper()
	return wait(p.t, p.msgs).b
}

// wantAnswer checks the next message that arrives, if there is to be one.
func (p *rawPeer) wantAnswer(f outcome, xid, grant uint32) {
	p.t.Helper()
	if f.answer == nil {
		return // an answer would be the next message, which was something else
	}
	if got, want := p.nextBytes(), f.answer(xid, grant); !bytes.Equal(got, want) {
		p.t.Errorf("answer\n%x, want\n%x", got, want)
	}
}

// TestMalformed sends a server all malformed messages, on one connection. It answers as its dialect
// says and counts them, and after each message the connection works.
func TestMalformed(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		cfg := malformedConfig(d)
		t.Run(d.String()+" loopback", func(t *testing.T) {
			r := newRig(t, cfg)
			testMalformed(t, r, r.raw(inline4k), d)
		})
		t.Run(d.String()+" iwarp", func(t *testing.T) {
			r := newWireRig(t, cfg)
			testMalformed(t, r, r.raw(inline4k), d)
		})
	}
	t.Run("draft aligned", func(t *testing.T) {
		cfg := malformedConfig(rpcrdma.Draft)
		cfg.Align = 64 // headers span the two buffers of a receive
		r := newRig(t, cfg)
		testMalformed(t, r, r.raw(inline4k), rpcrdma.Draft)
	})
}

func testMalformed(t *testing.T, r *rig, p *rawPeer, d rpcrdma.Dialect) {
	p.alive()
	conn := wait(t, r.program.conns)
	for i, m := range malformedMessages() {
		ok := t.Run(m.name, func(t *testing.T) {
			p.t = t
			before, xid := conn.Stats(), uint32(0x1000+i)
			want := m.verdict(d).outcome
			p.sendBytes(m.msg(xid))
			p.wantAnswer(want, xid, asked)
			p.alive()
			want.count.CallsReceived++
			if diff := cmp.Diff(want.count, counted(before, conn.Stats())); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
		})
		if !ok {
			break
		}
	}
	p.t = t
}

// TestMalformedToClient sends all malformed messages to a client without pending calls: one that
// serves, and one that does not, which grants only one credit.
func TestMalformedToClient(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		for _, serves := range []bool{true, false} {
			c, p := rawServer(t, malformedConfig(d), inline4k)
			grant := uint32(1)
			if serves {
				serveBack(t, c)
				grant = asked
			}
			for i, m := range malformedMessages() {
				want := m.outcome(d, serves)
				if want.rpc && !serves {
					continue
				}
				ok := t.Run(fmt.Sprintf("%v serves %v/%s", d, serves, m.name), func(t *testing.T) {
					p.t = t
					before, xid := c.Stats(), uint32(0x1000+i)
					p.sendBytes(m.msg(xid))
					p.wantAnswer(want, xid, grant)
					callAnswered(t, c, p)
					want.count.CallsSent++
					if diff := cmp.Diff(want.count, counted(before, c.Stats())); diff != "" {
						t.Errorf("counters (-want +got):\n%s", diff)
					}
				})
				if !ok {
					break
				}
			}
			p.t = t
		}
	}
}

// callAnswered makes a call, which is the next thing that the server gets, and answers it.
func callAnswered(t *testing.T, c *rpcrdma.Conn, p *rawPeer) {
	t.Helper()
	s := start(context.Background(), c, &items{}, nil)
	h, body := p.next()
	if h.Type != rpcrdma.TypeMsg || len(body) != 48 {
		t.Fatalf("got %v with %d bytes, want a call", h.Type, len(body))
	}
	p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
	if err := wait(t, s.err); err != nil {
		t.Fatal(err)
	}
}

// TestMalformedReplies sends all malformed messages with the XID of a pending call. A message that
// may be its reply ends the call. It is never answered with an error, and in the Draft by an
// RDMA_DONE if it has a read list. Other messages do not affect the call.
func TestMalformedReplies(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) { testMalformedReplies(t, d, false) })
	}
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String()+", serves", func(t *testing.T) { testMalformedReplies(t, d, true) })
	}
}

func testMalformedReplies(t *testing.T, d rpcrdma.Dialect, serves bool) {
	c, p := rawServer(t, malformedConfig(d), inline4k)
	grant := uint32(1)
	if serves {
		serveBack(t, c)
		grant = asked
	}
	for _, m := range malformedMessages() {
		v := m.verdict(d)
		if v.rpc && !serves {
			continue
		}
		if d == rpcrdma.RFC8166 && serves && v.count.CallsReceived > 0 {
			// No reply has a read list, so a long message is a call (docs/readings.md, 8).
			v.ends = nil
		}
		ok := t.Run(m.name, func(t *testing.T) {
			p.t = t
			s := start(context.Background(), c, &items{}, nil)
			h, _ := p.next()
			before := c.Stats()
			p.sendBytes(m.msg(h.XID))
			want := v.count
			if v.ends == nil {
				p.wantAnswer(v.outcome, h.XID, grant)
				p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
				if err := wait(t, s.err); err != nil {
					t.Errorf("the call: %v", err)
				}
			} else {
				checkEnd(t, wait(t, s.err), v.ends)
				want = endCount(v)
			}
			if v.done {
				if got, want := p.nextBytes(), be32(h.XID, 1, 64, 3); !bytes.Equal(got, want) {
					t.Errorf("got %x, want the RDMA_DONE %x", got, want)
				}
			}
			if diff := cmp.Diff(want, counted(before, c.Stats())); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
			callAnswered(t, c, p)
			if _, inFlight, _ := c.Credits(); inFlight != 0 {
				t.Errorf("%d credits in use", inFlight)
			}
		})
		if !ok {
			break
		}
	}
	p.t = t
}

// TestMalformedLateReplies sends all malformed replies to a call that was cancelled meanwhile. The
// call ends and its credit is free again. Nothing is sent, except perhaps an RDMA_DONE.
func TestMalformedLateReplies(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) {
			c, p := rawServer(t, malformedConfig(d), inline4k)
			for _, m := range malformedMessages() {
				v := m.verdict(d)
				if v.ends == nil {
					continue
				}
				ok := t.Run(m.name, func(t *testing.T) {
					p.t = t
					ctx, cancel := context.WithCancel(context.Background())
					s := start(ctx, c, &items{}, nil)
					h, _ := p.next()
					cancel()
					checkEnd(t, wait(t, s.err), context.Canceled)
					before := c.Stats()
					p.sendBytes(m.msg(h.XID))
					if v.done {
						if got, want := p.nextBytes(), be32(h.XID, 1, 64, 3); !bytes.Equal(got, want) {
							t.Errorf("got %x, want the RDMA_DONE %x", got, want)
						}
					}
					callAnswered(t, c, p)
					if _, inFlight, _ := c.Credits(); inFlight != 0 {
						t.Errorf("%d credits in use", inFlight)
					}
					if got := counted(before, c.Stats()); got.ErrorsSent != 0 || got.UnknownXID != 0 || got.ErrorsRecv != endCount(v).ErrorsRecv {
						t.Errorf("counters %+v", got)
					}
				})
				if !ok {
					break
				}
			}
			p.t = t
		})
	}
}

// checkEnd checks the error of a call.
func checkEnd(t *testing.T, err, want error) {
	t.Helper()
	is := false
	switch want := want.(type) { //nolint:errorlint // the value comes from the table
	case *rpcrdma.PeerError:
		var got *rpcrdma.PeerError
		is = errors.As(err, &got) && *got == *want
	case *oncrpc.ReplyTooLongError:
		var got *oncrpc.ReplyTooLongError
		is = errors.As(err, &got) && *got == *want
	default:
		is = errors.Is(err, want)
	}
	if !is {
		t.Errorf("the call ends with %v, want %v", err, want)
	}
	if errors.Is(err, chunks.ErrMalformed) && !errors.Is(err, rpcrdma.ErrMalformed) {
		t.Errorf("the call ends with %v, which is not ErrMalformed", err)
	}
}

// serveBack has a client serve the test program.
func serveBack(t *testing.T, c *rpcrdma.Conn) {
	t.Helper()
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	s.Handle(newProgram().program())
	t.Cleanup(func() { s.Close() })
	c.Serve(s)
}

// endCount is what a client counts when a message ends a call.
func endCount(v verdict) (s rpcrdma.Stats) {
	s.Padded = v.count.Padded
	var pe *rpcrdma.PeerError
	switch {
	case errors.As(v.ends, &pe):
		s.ErrorsRecv = 1
	case errors.Is(v.ends, rpcrdma.ErrVersion):
		s.BadVersion = 1
	case errors.Is(v.ends, oncrpc.ErrMalformedReply): // an error of the RPC layer
	default:
		s.Malformed = 1
	}
	if v.done {
		s.DonesSent = 1
	}
	return s
}
