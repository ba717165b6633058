//go:build interop

package tshark

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// session is one connection to the listener.
type session func(ctx context.Context, l, d *counted)

// seen is what tshark says of a session, from the client and from the server, and what these
// posted.
type seen struct {
	said   [2][]described
	flows  [2]flow
	posted [2]tally
}

// observeSessions captures sessions that take place one after the other, each on its own
// connection.
func observeSessions(t *testing.T, sessions []session) []seen {
	t.Helper()
	for range tries {
		all, fault := observeOnce(t, sessions)
		if fault == "" {
			return all
		}
		t.Logf("%s; once more", fault)
	}
	t.Fatalf("no capture of %d is of use", tries)
	return nil
}

// dissectorBug is the beginning of tshark's message when one of its assertions fails. That happens
// now and then, in sessions that it otherwise decodes.
const dissectorBug = "[Dissector bug"

// observeOnce captures the sessions once. fault says why the capture is useless, if it is.
func observeOnce(t *testing.T, sessions []session) (all []seen, fault string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	c := startCapture(t, port)
	all = make([]seen, len(sessions))
	for i, s := range sessions {
		listener := countListener(newLeaveOpen(l))
		dialer := countDialer(iwarp.Dialer{Config: iwarp.Config{NudgeAfter: -1}})
		s(ctx, listener, dialer)
		all[i].posted = [2]tally{dialer.total(), listener.total()}
	}
	conversations := split(t, dissect(t, c.stop(t)), port)
	if len(conversations) != len(sessions) {
		t.Fatalf("%d connections, want %d", len(conversations), len(sessions))
	}
	for i, packets := range conversations {
		all[i].flows = decode(t, packets, port)
		for _, f := range all[i].flows {
			// A reply captured before its request is not recognized as a reply, so nothing after it
			// is decoded.
			if f.disorder || f.startup == 0 {
				return nil, "TCP has repeated something, or the capture is not in order"
			}
			if i := slices.IndexFunc(f.Problems, func(p string) bool { return strings.HasPrefix(p, dissectorBug) }); i >= 0 {
				return nil, f.Problems[i]
			}
		}
		all[i].said = messagesOf(t, packets, port)
	}
	return all, ""
}

// split sorts packets by connection.
func split(t *testing.T, packets []packet, port int) (all [][]packet) {
	t.Helper()
	index := make(map[int]int) // by the client's port
	for _, p := range packets {
		s := p.segment(t)
		client := s.source
		if client == port {
			client = s.dest
		}
		i, ok := index[client]
		if !ok {
			i = len(all)
			index[client] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], p)
	}
	return all
}

// messagesOf returns the RPC-over-RDMA messages of a connection.
func messagesOf(t *testing.T, packets []packet, port int) (said [2][]described) {
	t.Helper()
	var length [2]int // in bytes, of a Send: it is shown with its last segment
	for i := range packets {
		p := &packets[i]
		from := 0
		if p.segment(t).source == port {
			from = 1
		}
		ulpdu := 0
		for j := range p.Protos {
			switch proto := &p.Protos[j]; proto.Name {
			case "iwarp_mpa":
				ulpdu = proto.number("iwarp_mpa.ulpdulength")
			case "iwarp_ddp_rdmap":
				if op := opcode(proto.number("iwarp_rdma.opcode")); op == opSend || op == opSendInvalidate {
					length[from] += ulpdu - untaggedLen
				}
			case "rpcordma":
				said[from] = append(said[from], describe(proto, length[from]))
				length[from] = 0
			}
		}
	}
	return said
}

// leaveOpen is a listener whose port stays open when it is closed, so that another can take over.
type leaveOpen struct {
	transport.Listener
	ctx   context.Context
	close context.CancelFunc
}

func newLeaveOpen(l transport.Listener) *leaveOpen {
	ctx, cancel := context.WithCancel(context.Background())
	return &leaveOpen{l, ctx, cancel}
}

// Accept implements transport.Listener.
func (l *leaveOpen) Accept(ctx context.Context) (transport.Request, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	r, err := l.Listener.Accept(ctx)
	if err != nil && l.ctx.Err() != nil {
		return nil, net.ErrClosed
	}
	return r, err
}

// Close implements transport.Listener.
func (l *leaveOpen) Close() error {
	l.close()
	return nil
}
