package rpcrdma_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// logLines is where a logger writes its lines to.
type logLines chan string

func (l logLines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// burst sends messages so that they arrive together. Whether they do arrive, it does not know.
func (p *rawPeer) burst(msgs ...[]byte) {
	p.t.Helper()
	var wrs []*transport.WorkRequest
	for _, b := range msgs {
		wrs = append(wrs, &transport.WorkRequest{
			Op: transport.OpSend, Flags: transport.Signaled, Done: make(completer, 1), Local: []transport.Slice{{Bytes: b}},
		})
	}
	if err := p.ep.Post(wrs...); err != nil {
		p.t.Fatal(err)
	}
}

// TestExceeded: clients send more than they were granted. Each loses its connection, both ends know
// why, and no other connection is affected.
func TestExceeded(t *testing.T) {
	call := func(xid uint32) []byte {
		return append(header(xid, rpcrdma.TypeMsg).Append(nil),
			callBytes(xid, procBlock, &items{})...)
	}
	repeat := func(b []byte) (all [][]byte) {
		for range 40 {
			all = append(all, b)
		}
		return all
	}
	tests := []struct {
		name   string
		exceed func(r *rig, p *rawPeer)
	}{
		{"a second call before the first reply (draft section 6.1)", func(_ *rig, p *rawPeer) {
			p.burst(append(header(1, rpcrdma.TypeMsg).Append(nil), callBytes(1, procNull, nil)...), call(2))
		}},
		{"one call more than granted", func(r *rig, p *rawPeer) {
			p.alive()
			p.fill(r)
			p.burst(call(1))
		}},
		{"one malformed call more than granted", func(r *rig, p *rawPeer) {
			p.alive()
			p.fill(r)
			p.burst(header(1, 77).Append(nil))
		}},
		{"one RDMA_ERROR where there is no receive", func(r *rig, p *rawPeer) {
			p.alive()
			p.fill(r)
			p.burst(errChunk(1, 1))
		}},
		{"one RDMA_DONE for nothing where there is no receive", func(r *rig, p *rawPeer) {
			p.alive()
			p.fill(r)
			p.burst(header(1, rpcrdma.TypeDone).Append(nil))
		}},
		{"more calls than granted, at once", func(_ *rig, p *rawPeer) {
			p.alive()
			p.burst(repeat(call(1))...)
		}},
		{"RDMA_DONEs for nothing, at once", func(_ *rig, p *rawPeer) {
			p.alive()
			p.burst(repeat(header(1, rpcrdma.TypeDone).Append(nil))...)
		}},
		{"RDMA_ERRORs for nothing, at once", func(_ *rig, p *rawPeer) {
			p.alive()
			p.burst(repeat(errVers(1, 1))...)
		}},
		{"replies to nothing, at once", func(_ *rig, p *rawPeer) {
			p.alive()
			p.burst(repeat(append(header(1, rpcrdma.TypeMsg).Append(nil), replyHeader(1)...))...)
		}},
		{"no headers, at once", func(_ *rig, p *rawPeer) {
			p.alive()
			p.burst(repeat([]byte{1})...)
		}},
	}
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%v/%s", d, tt.name), func(t *testing.T) {
				lines := make(logLines, 100)
				r := newRig(t, rpcrdma.Config{Dialect: d, Credits: 16, Logger: slog.New(slog.NewTextHandler(lines, nil))})
				witness, p := r.raw(inline4k), r.raw(inline4k)
				witness.alive()
				wait(t, r.program.conns) // the witness's
				tt.exceed(r, p)
				conn := wait(t, r.program.conns)

				ended(t, conn)
				err := conn.Err()
				if !errors.Is(err, rpcrdma.ErrCreditsExceeded) || !errors.Is(err, transport.ErrNoReceive) {
					t.Errorf("ended with %v, want ErrCreditsExceeded that wraps ErrNoReceive", err)
				}
				if got := conn.Stats().Exceeded; got != 1 {
					t.Errorf("Exceeded = %d, want 1", got)
				}
				wait(t, p.ep.Done())
				if err := p.ep.Err(); !errors.Is(err, transport.ErrNoReceive) || !errors.Is(err, transport.ErrTerminated) {
					t.Errorf("the client's end: %v, want ErrNoReceive and ErrTerminated", err)
				}
				line := wait(t, lines)
				for !strings.Contains(line, "connection lost") {
					line = wait(t, lines)
				}
				for _, want := range []string{"level=WARN", conn.RemoteAddr().String(), rpcrdma.ErrCreditsExceeded.Error()} {
					if !strings.Contains(line, want) {
						t.Errorf("log %q does not say %q", line, want)
					}
				}
				witness.alive()
				r.raw(inline4k).alive() // the same host may connect again
				waitFor(t, func() bool { return r.server.Stats().InFlight == 0 })
			})
		}
	}
}

// TestExceededOnTheWire is TestExceeded over iWARP: the client gets a Terminate, which says that
// there was no receive. The server may just be answering earlier calls, and posting more receives.
func TestExceededOnTheWire(t *testing.T) {
	call := append(header(1, rpcrdma.TypeMsg).Append(nil), callBytes(1, procNull, nil)...)
	for _, tt := range []struct {
		name    string
		credits int
		exceed  func(r *rig, p *rawPeer)
	}{
		{"one call more than granted", 16, func(r *rig, p *rawPeer) {
			p.fill(r)
			p.burst(call)
		}},
		{"calls that are answered at once", 4, func(_ *rig, p *rawPeer) { p.burst(slices.Repeat([][]byte{call}, 200)...) }},
	} {
		for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
			t.Run(fmt.Sprintf("%v/%s", d, tt.name), func(t *testing.T) {
				r := newWireRig(t, rpcrdma.Config{Dialect: d, Credits: tt.credits})
				witness, p := r.raw(inline4k), r.raw(inline4k)
				witness.alive()
				wait(t, r.program.conns)
				p.alive()
				conn := wait(t, r.program.conns)
				tt.exceed(r, p)
				ended(t, conn)
				if err := conn.Err(); !errors.Is(err, rpcrdma.ErrCreditsExceeded) || conn.Stats().Exceeded != 1 {
					t.Errorf("ended with %v, want ErrCreditsExceeded", err)
				}
				wait(t, p.ep.Done())
				if err := p.ep.Err(); !errors.Is(err, transport.ErrNoReceive) || !errors.Is(err, transport.ErrTerminated) {
					t.Errorf("the client's end: %v, want ErrNoReceive and ErrTerminated", err)
				}
				witness.alive()
			})
		}
	}
}

// TestFloodedClient: a server sends replies to no call, more at a time than the client has
// receives. The client's error says so. One at a time they do no harm.
func TestFloodedClient(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		for _, tt := range []struct {
			name string
			msg  func(xid uint32) []byte
			want rpcrdma.Stats // for each message that comes alone
		}{
			{"replies", withReply(head(rpcrdma.TypeMsg, 0, 0, 0)), strayReply.count},
			{"RDMA_ERRORs", head(rpcrdma.TypeError, 2), strayError.count},
			{"RDMA_DONEs", head(rpcrdma.TypeDone), strayDone.count},
			{"no headers", func(uint32) []byte { return []byte{1} }, ignored.count},
			{"calls", withCall(head(rpcrdma.TypeMsg, 0, 0, 0)), rpcrdma.Stats{CallsReceived: 1, Unserved: 1}},
		} {
			t.Run(fmt.Sprintf("%v/%s", d, tt.name), func(t *testing.T) {
				c, p := rawServer(t, rpcrdma.Config{Dialect: d}, inline4k)
				s := start(context.Background(), c, &items{}, nil)
				h, _ := p.next()
				before, want := c.Stats(), rpcrdma.Stats{}
				msg := tt.msg(h.XID + 1)
				for range 100 {
					p.sendBytes(msg)
					if tt.want.CallsReceived > 0 {
						p.next() // the answer
					}
					want = sum(want, tt.want)
				}
				waitFor(t, func() bool { return counted(before, c.Stats()) == want })
				var all [][]byte
				for range 40 {
					all = append(all, msg)
				}
				p.burst(all...)
				err := wait(t, s.err)
				ended(t, c)
				for _, err := range []error{err, c.Err()} {
					if !errors.Is(err, rpcrdma.ErrCreditsExceeded) || !errors.Is(err, transport.ErrNoReceive) || !errors.Is(err, net.ErrClosed) {
						t.Errorf("error %v, want ErrCreditsExceeded, ErrNoReceive and net.ErrClosed", err)
					}
				}
				if got := c.Stats().Exceeded; got != 1 {
					t.Errorf("Exceeded = %d, want 1", got)
				}
				wait(t, p.ep.Done())
				if err := p.ep.Err(); !errors.Is(err, transport.ErrNoReceive) {
					t.Errorf("the server's end: %v, want ErrNoReceive", err)
				}
			})
		}
	}
}

// TestNoReceiveForOurs calls a server that posts no receive. That is not ErrCreditsExceeded.
func TestNoReceiveForOurs(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) {
			c, ep, _ := acceptRaw(t, rpcrdma.Config{Dialect: d}, inline4k, sameEndpoint)
			ep.Start(&rawPeer{t: t, ep: ep})
			s := start(context.Background(), c, &items{}, nil)
			if err := wait(t, s.err); !errors.Is(err, transport.ErrNoReceive) || errors.Is(err, rpcrdma.ErrCreditsExceeded) {
				t.Errorf("the call: %v, want ErrNoReceive without ErrCreditsExceeded", err)
			} else if !errors.Is(err, transport.ErrTerminated) || !errors.Is(err, net.ErrClosed) {
				t.Errorf("the call: %v, want ErrTerminated and net.ErrClosed", err)
			}
			ended(t, c)
			var op *rpcrdma.OpError
			if err := c.Err(); !errors.As(err, &op) || op.Peer != c.RemoteAddr() {
				t.Errorf("the connection: %v, want an OpError with the peer's address", err)
			}
			hang.Receive(t, "the end of the connection", ep.Done())
			if got := c.Stats().Exceeded; got != 0 {
				t.Errorf("Exceeded = %d", got)
			}
		})
	}
}
