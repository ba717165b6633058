package rpcrdma_test

import (
	"context"
	"errors"
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
			Op: transport.OpSend, Flags: transport.Signaled, Done: make(completer, 1),
			Local: []transport.Slice{{Bytes: b}},
		})
	}
	if err := p.ep.Post(wrs...); err != nil {
		p.t.Fatal(err)
	}
}

// wantAll checks that err wraps all of these errors.
func wantAll(t *testing.T, what string, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Errorf("%s: %v, want %v", what, err, w)
		}
	}
}

// TestExceeded: clients send more than they were granted. Each loses its connection, both ends know
// why, and no other connection is affected. Over iWARP, the client gets a Terminate, which says
// that there was no receive. The server may just be answering earlier calls, and posting more
// receives.
func TestExceeded(t *testing.T) {
	const all = 16
	null := append(header(1, rpcrdma.TypeMsg).Append(nil), callBytes(1, procNull, nil)...)
	block := append(header(1, rpcrdma.TypeMsg).Append(nil), callBytes(1, procBlock, &items{})...)
	done := header(1, rpcrdma.TypeDone).Append(nil)
	for _, tt := range []struct {
		name  string
		held  int // 0: before the first reply, 1: nothing, all: all that was granted
		burst [][]byte
	}{
		{"a second call before the first reply (draft section 6.1)", 0, [][]byte{null, block}},
		{"one call", all, [][]byte{block}},
		{"one RDMA_ERROR where there is no receive", all, [][]byte{errChunk(1, 1)}},
		{"one RDMA_DONE for nothing where there is no receive", all, [][]byte{done}},
		{"calls", 1, slices.Repeat([][]byte{block}, 40)},
		{"RDMA_DONEs for nothing", 1, slices.Repeat([][]byte{done}, 40)},
		{"no headers", 1, slices.Repeat([][]byte{{1}}, 40)},
	} {
		for provider := range providers {
			if tt.held == 0 && provider != "loopback" { // where the first is not answered before
				continue
			}
			t.Run(provider+"/"+tt.name, func(t *testing.T) {
				inBothDialects(t, func(t *testing.T, d rpcrdma.Dialect) {
					lines := make(logLines, 100)
					l, dialer := providers[provider](t)
					r := serveRig(t, rpcrdma.Config{Dialect: d, Credits: max(4, tt.held),
						Logger: slog.New(slog.NewTextHandler(lines, nil))}, l, dialer, sameEndpoint)
					witness, p := r.raw(inline4k), r.raw(inline4k)
					witness.alive()
					wait(t, r.program.conns) // the witness's
					if tt.held > 0 {
						p.alive()
					}
					if tt.held == all {
						p.fill(r)
					}
					p.burst(tt.burst...)
					conn := wait(t, r.program.conns)

					ended(t, conn)
					wantAll(t, "the server's end", conn.Err(), rpcrdma.ErrCreditsExceeded,
						transport.ErrNoReceive)
					if got := conn.Stats().Exceeded; got != 1 {
						t.Errorf("Exceeded = %d, want 1", got)
					}
					wait(t, p.ep.Done())
					wantAll(t, "the client's end", p.ep.Err(), transport.ErrNoReceive,
						transport.ErrTerminated)
					for peer := conn.RemoteAddr().String(); ; {
						line := wait(t, lines)
						if strings.Contains(line, "connection lost") && strings.Contains(line, peer) &&
							strings.Contains(line, rpcrdma.ErrCreditsExceeded.Error()) {
							break
						}
					}
					witness.alive()
					r.raw(inline4k).alive() // the same host may connect again
					waitFor(t, func() bool { return r.server.Stats().InFlight == 0 })
				})
			})
		}
	}
}

// TestFloodedClient: a server sends replies to no call, more at a time than the client has
// receives. The client's error says so. One at a time they do no harm.
func TestFloodedClient(t *testing.T) {
	for _, tt := range []struct {
		name string
		msg  func(xid uint32) []byte
		want rpcrdma.Stats // for each message that comes alone
	}{
		{"replies", withReply(head(rpcrdma.TypeMsg, 0, 0, 0)), strayReply.count},
		{"calls", withCall(head(rpcrdma.TypeMsg, 0, 0, 0)),
			rpcrdma.Stats{CallsReceived: 1, Unserved: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBothDialects(t, func(t *testing.T, d rpcrdma.Dialect) {
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
				p.burst(slices.Repeat([][]byte{msg}, 40)...)
				err := wait(t, s.err)
				ended(t, c)
				for _, err := range []error{err, c.Err()} {
					wantAll(t, "the client's end", err, rpcrdma.ErrCreditsExceeded,
						transport.ErrNoReceive, net.ErrClosed)
				}
				if got := c.Stats().Exceeded; got != 1 {
					t.Errorf("Exceeded = %d, want 1", got)
				}
				wait(t, p.ep.Done())
				wantAll(t, "the server's end", p.ep.Err(), transport.ErrNoReceive)
			})
		})
	}
}

// TestNoReceiveForOurs calls a server that posts no receive. That is not ErrCreditsExceeded.
func TestNoReceiveForOurs(t *testing.T) {
	inBothDialects(t, func(t *testing.T, d rpcrdma.Dialect) {
		c, ep, _ := acceptRaw(t, rpcrdma.Config{Dialect: d}, inline4k, sameEndpoint)
		ep.Start(&rawPeer{t: t, ep: ep})
		err := wait(t, start(context.Background(), c, &items{}, nil).err)
		wantAll(t, "the call", err, transport.ErrNoReceive, transport.ErrTerminated, net.ErrClosed)
		ended(t, c)
		var op *rpcrdma.OpError
		if err := c.Err(); !errors.As(err, &op) || op.Peer != c.RemoteAddr() {
			t.Errorf("the connection: %v, want an OpError with the peer's address", err)
		}
		hang.Receive(t, "the end of the connection", ep.Done())
		if errors.Is(err, rpcrdma.ErrCreditsExceeded) || c.Stats().Exceeded != 0 {
			t.Errorf("the call: %v; counters %+v", err, c.Stats())
		}
	})
}
