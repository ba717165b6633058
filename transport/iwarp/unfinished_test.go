package iwarp_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// TestUnfinished has peers that begin a message and never end it, whatever else they send. They get
// a Terminate, and the connection ends.
func TestUnfinished(t *testing.T) {
	begin := func(p *peer, _ *local) {
		p.send(segment(with(onQueue(rdmap.OpSend, 1), more), "the beginning"))
	}
	for _, tt := range []struct {
		name  string
		begin func(p *peer, l *local)
		each  func(p *peer) []byte // data that is sent repeatedly
	}{
		{"Send", begin, nil},
		{"Send of which there is nothing yet", func(p *peer, _ *local) {
			p.send(segment(with(onQueue(rdmap.OpSend, 1), more), ""))
		}, nil},
		{"Send, and half an FPDU", func(p *peer, l *local) {
			begin(p, l)
			p.write([]byte{0})
		}, nil},
		{"Send of more and more segments of no bytes", begin, func(p *peer) []byte {
			const offset = uint32(len("the beginning"))
			h := with(onQueue(rdmap.OpSend, 1), more)
			h.MO = offset
			return p.frame(segment(h, ""))
		}},
		{"Send, and Writes of no bytes", begin, func(p *peer) []byte {
			return p.frame(segment(toSTag(rdmap.OpWrite, 1, 0), ""))
		}},
		{"response to an RDMA Read", func(p *peer, l *local) {
			l.post(&transport.WorkRequest{Op: transport.OpRead, Local: slices(make([]byte, 100))})
			q := p.wantReadRequest(1)
			h := with(toSTag(rdmap.OpReadResponse, q.SinkSTag, q.SinkOffset), more)
			p.send(segment(h, "the beginning"))
		}, nil},
	} {
		for _, dialing := range []bool{false, true} {
			t.Run(tt.name+map[bool]string{true: ", dialing"}[dialing], func(t *testing.T) {
				r := newRig(t, dialing, hostileConfig())
				check := r.bystander()
				p, l := r.connect()
				l.receives(1)
				l.start()
				if tt.name != "response to an RDMA Read" || dialing {
					tt.begin(p, l)
				} else { // nothing is sent before the peer has sent something
					p.send(segment(toSTag(rdmap.OpWrite, 1, 0), ""))
					tt.begin(p, l)
				}
				stop, stopped := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(stopped)
					tick := time.NewTicker(time.Millisecond)
					defer tick.Stop()
					for tt.each != nil {
						select {
						case <-tick.C:
							if _, err := p.conn.Write(tt.each(p)); err != nil {
								return
							}
						case <-stop:
							return
						}
					}
				}()
				if err := l.ended(); !errors.Is(err, mpa.ErrStalled) || !strings.Contains(err.Error(), "in the middle of a message") {
					t.Errorf("got error %v, want %v in the middle of a message", err, mpa.ErrStalled)
				}
				close(stop)
				<-stopped
				p.wantTerminate(terminateBytes(rdmap.OperationStream, nil, false, false))
				check()
				r.wantCounters(map[string]int{"Connections": 2, "Stalls": 1, "TerminatesSent": 1})
				r.log.want(t, 1, "connection ended", p.conn.LocalAddr().String())
			})
		}
	}
}

// TestWriteUnfinished has a peer begin an RDMA Write, and then stay silent for longer than it may
// within a Send. It may do so, as nothing waits for the Write.
func TestWriteUnfinished(t *testing.T) {
	cfg := hostileConfig()
	r := newRig(t, false, cfg)
	p, l := r.connect()
	l.start()
	w := l.expose(transport.RemoteWrite, make([]byte, 100))
	p.send(segment(with(toSTag(rdmap.OpWrite, w.STag, w.Base), more), "the beginning"))
	stalled, s := r.connect() // at the same time, as a reference
	s.receives(1)
	s.start()
	stalled.send(segment(with(onQueue(rdmap.OpSend, 1), more), "the beginning"))
	s.ended()
	alive(p, l)
}

// without is a source without memory. It signals when it is asked for some.
type without struct{ asked chan struct{} }

func (s *without) Receive() *transport.RecvRequest {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	return nil
}

func (s *without) Ready() bool { return false }

// TestHeldPeerLeaves has peers leave while their message waits for memory. The connection ends
// without waiting for memory.
func TestHeldPeerLeaves(t *testing.T) {
	for _, tt := range []struct {
		name   string
		behind int // messages that nobody has read
		leave  func(p *peer)
	}{
		{"FIN", 0, func(p *peer) { p.conn.CloseWrite() }},
		{"FIN behind messages", 20, func(p *peer) { p.conn.CloseWrite() }},
		{"RST", 0, (*peer).reset},
		{"RST behind messages", 20, (*peer).reset},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, false, hostileConfig())
			check := r.bystander()
			p, l := r.connect()
			source := &without{make(chan struct{}, 1)}
			l.Endpoint.(transport.SharedReceiver).ShareRecv(source)
			if err := l.Endpoint.(transport.SharedReceiver).PromiseRecv(100); err != nil {
				t.Fatal(err)
			}
			l.start()
			for range 1 + tt.behind {
				p.sendMessage(strings.Repeat("x", 100))
			}
			hang.Receive(t, "a message that waits for memory", source.asked)
			tt.leave(p)
			if err := l.ended(); !errors.Is(err, transport.ErrClosedByPeer) {
				t.Errorf("ended with %v, want %v", err, transport.ErrClosedByPeer)
			}
			check()
		})
	}
}
