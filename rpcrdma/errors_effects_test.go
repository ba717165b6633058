package rpcrdma_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// headersToCut are headers of each type, some with all lists that there are.
func headersToCut() []rpcrdma.Header {
	lists := chunks.Lists{Reads: []chunks.ReadSegment{{Position: 40, Segment: chunks.Segment{Handle: 1, Length: 4}}, {Position: 44, Segment: chunks.Segment{Handle: 1, Length: 4}}}}
	lists.AddWrite([]chunks.Segment{{Handle: 2, Length: 100}, {Handle: 3, Length: 100}})
	lists.AddWrite(nil)
	lists.SetReply([]chunks.Segment{{Handle: 4, Length: 100}})
	return []rpcrdma.Header{
		{Type: rpcrdma.TypeMsg, Lists: lists},
		{Type: rpcrdma.TypeNoMsg, Lists: lists},
		{Type: rpcrdma.TypeMsgP, Align: 64, Threshold: 1024, Lists: lists},
		{Type: rpcrdma.TypeError, Err: rpcrdma.ErrVers, Low: 1, High: 1},
		{Type: rpcrdma.TypeError, Err: rpcrdma.ErrChunk},
		{Type: rpcrdma.TypeError, Err: 7},
	}
}

// TestTruncated cuts messages with every kind of list off at every byte of their headers.
func TestTruncated(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		r := newRig(t, rpcrdma.Config{Dialect: d})
		p := r.raw(inline4k)
		p.alive()
		conn := wait(t, r.program.conns)
		for _, h := range headersToCut() {
			t.Run(fmt.Sprintf("%v/%v %v", d, h.Type, h.Err), func(t *testing.T) {
				p.t = t
				h.XID, h.Version, h.Credits = 0x77, rpcrdma.ProtocolVersion, asked
				b := h.Append(nil)
				before, want := conn.Stats(), rpcrdma.Stats{CallsReceived: 1}
				for n := range b {
					p.sendBytes(b[:n])
					switch {
					case n < chunks.FixedLen || h.Type == rpcrdma.TypeError:
						want = sum(want, ignored.count)
					default:
						p.wantAnswer(refusedHeader, h.XID, asked)
						want = sum(want, refusedHeader.count)
					}
				}
				p.alive()
				if diff := cmp.Diff(want, counted(before, conn.Stats())); diff != "" {
					t.Errorf("counters (-want +got):\n%s", diff)
				}
			})
		}
		p.t = t
	}
}

// TestNoErrorStorm: two ends send each other all malformed messages. No error is answered with
// another one, though none of them matches a call.
func TestNoErrorStorm(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t, malformedConfig(d))
			c := r.dial(malformedConfig(d))
			if err := echo(c, &items{}, false); err != nil {
				t.Fatal(err)
			}
			if err := client(c).Call(context.Background(), procNull, nil, nil); err != nil {
				t.Fatal(err)
			}
			conn := wait(t, r.program.conns)
			for _, way := range []struct {
				name     string
				from, to *rpcrdma.Conn
			}{{"to the server", c, conn}, {"to the client", conn, c}} {
				sender, receiver := way.from.Stats(), way.to.Stats()
				var refused uint64
				for i, m := range malformedMessages() {
					v := m.outcome(d, way.to == conn)
					if v.rpc {
						continue
					}
					before := way.to.Stats()
					shout(t, way.from.Endpoint(), m.msg(uint32(0x1000+i)))
					if v.answer != nil {
						refused++
					}
					// One at a time: there is only one receive for the answer.
					waitFor(t, func() bool {
						return way.from.Stats().ErrorsRecv-sender.ErrorsRecv == refused &&
							way.to.Stats() != before
					})
				}
				if err := echo(c, &items{}, false); err != nil {
					t.Fatalf("%s: %v", way.name, err)
				}
				got := counted(sender, way.from.Stats())
				if got.ErrorsRecv != refused || got.UnknownXID != refused || got.ErrorsSent != 0 || got.Malformed != 0 {
					t.Errorf("%s: the sender counts %+v, want %d errors received and dropped",
						way.name, got, refused)
				}
				if got := counted(receiver, way.to.Stats()); got.ErrorsSent != refused {
					t.Errorf("%s: the receiver counts %+v, want %d errors sent", way.name, got,
						refused)
				}
			}
		})
	}
}

// TestFatal does what the protocol has no answer for, so that RDMA itself ends the connection.
// Other connections are not affected.
func TestFatal(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		r := newRig(t, rpcrdma.Config{Dialect: d})
		witness := r.raw(inline4k)
		for _, tt := range []struct {
			name string // and why
			msg  []byte
			want error
		}{
			{"message longer than a receive: nothing of it arrives", make([]byte, 4097), transport.ErrTooLong},
			{"long call in memory that is not there: an RDMA Read fails", head(rpcrdma.TypeNoMsg, cat(readWords(0, 40), []uint32{0, 0, 0})...)(1), nil},
			{
				"argument in memory that is not there: an RDMA Read fails",
				append(head(rpcrdma.TypeMsg, cat(readWords(52, 4), []uint32{0, 0, 0})...)(1), append(callBytes(1, procSink, nil), be32(1, 0xfeedbeef, 4, 7)...)...), nil,
			},
			{
				"result to memory that is not there: an RDMA Write fails",
				append(head(rpcrdma.TypeMsg, cat([]uint32{0, 1, 1}, segWords(4), []uint32{0, 0})...)(1), callBytes(1, procSource, &source{1, 4})...), nil,
			},
			{
				"reply chunk at the end of memory: an RDMA Write fails",
				append(head(rpcrdma.TypeMsg, 0, 0, 1, 1, 0xbad, 9000, 0xffffffff, 1<<32-9000)(1), callBytes(1, procSource, &source{1, 5000})...), nil,
			},
		} {
			t.Run(fmt.Sprintf("%v/%s", d, tt.name), func(t *testing.T) {
				p := r.raw(inline4k)
				p.t = t
				p.alive()
				conn := wait(t, r.program.conns)
				wr := transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled,
					Done: make(completer, 1), Local: []transport.Slice{{Bytes: tt.msg}}}
				if err := p.ep.Post(&wr); err != nil {
					t.Fatal(err)
				}
				hang.Receive(t, "the end of the request", wr.Done.(completer))
				ended(t, conn)
				if tt.want != nil && !errors.Is(conn.Err(), tt.want) {
					t.Errorf("ended with %v, want %v", conn.Err(), tt.want)
				}
				if got := conn.Stats(); got.Exceeded != 0 || got.ErrorsSent != 0 {
					t.Errorf("counters %+v", got)
				}
				witness.t = t
				witness.alive()
				hang.Receive(t, "the connection", r.program.conns)
			})
		}
	}
}

// TestStrayLongReply sends long replies that match no call. Only their messages, once fetched, show
// that they are no calls. They are not answered with an error, and cost no receive.
func TestStrayLongReply(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t, rpcrdma.Config{Dialect: d, Credits: 2})
			p := r.raw(inline4k)
			p.alive()
			conn := wait(t, r.program.conns)
			before := conn.Stats()
			for i := range uint64(10) {
				h := header(uint32(i), rpcrdma.TypeNoMsg)
				h.Reads = []chunks.ReadSegment{{Segment: p.expose(replyHeader(h.XID), transport.RemoteRead)}}
				p.send(h)
				waitFor(t, func() bool { return conn.Stats().UnknownXID == i+1 })
			}
			if got := r.ledgers.of(t, conn).state().Awaited; got != 2 {
				t.Errorf("%d receives posted, want 2", got)
			}
			p.checkReceives(r.ledgers.of(t, conn)) // its reply is the first message
			if p.granted != 2 {
				t.Errorf("granted %d, want 2", p.granted)
			}
			want := rpcrdma.Stats{CallsReceived: 11, UnknownXID: 10}
			if diff := cmp.Diff(want, counted(before, conn.Stats())); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFaultsOnce checks that malformed messages are logged at WARN once for each kind, so that a
// peer cannot fill the log.
func TestFaultsOnce(t *testing.T) {
	for _, tt := range []struct {
		name string
		msg  func(xid uint32) []byte
		mute bool // no answer
		want []string
	}{
		{"header", head(77), false, []string{"message refused", "xid=9", "malformed header", "rdma_proc 77"}},
		{"version", headOf(2, rpcrdma.TypeMsg), false, []string{"message refused", "xid=9", "version not supported"}},
		{"call", withCall(head(rpcrdma.TypeMsg, cat(readWords(41, 4), []uint32{0, 0, 0})...)), false, []string{"call refused", "xid=9", "position 41"}},
		{"too short", head(rpcrdma.TypeError), true, []string{"message ignored", "xid=9", "malformed header"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			logger, lines := logTo()
			r := newRig(t, rpcrdma.Config{Logger: logger})
			p := r.raw(inline4k)
			for i := range 5 {
				p.sendBytes(tt.msg(9))
				if !tt.mute {
					p.next()
				}
				level := "level=DEBUG"
				if i == 0 {
					level = "level=WARN"
				}
				lines.wantLine(t, append(tt.want, level, "peer=")...)
			}
			p.alive()
			if len(lines) > 0 {
				t.Errorf("the log goes on: %q", <-lines)
			}
		})
	}
}
