package iwarp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// TestLongMessages checks the segments of messages of each kind against RFC 5041 sections 4 and
// 5.2: fields and numbers are the same in each, offsets continue, and only the last has L.
func TestLongMessages(t *testing.T) {
	const most, size, at = 64, 150, 0x7000
	p, l := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff, MaxSegment: most}).connect()
	data := strings.Repeat("0123456789", size/10)
	w := l.expose(transport.RemoteRead, []byte(data))
	l.start()
	want := func(what string, first ddp.Header) {
		t.Helper()
		for sent := 0; sent < size; {
			h := first
			n := min(size-sent, (most-first.Len())&^3)
			h.Last = sent+n == size
			if h.Tagged {
				h.Offset += uint64(sent)
			} else {
				h.MO = uint32(sent)
			}
			p.want(what, segment(h, data[sent:sent+n]))
			sent += n
		}
	}
	l.send(data)
	want("Send", onQueue(rdmap.OpSend, 1))
	const tag = 0x12345678
	list := slices([]byte(data))
	l.post(&transport.WorkRequest{Op: transport.OpSendInvalidate, Invalidate: tag, Local: list})
	ulp := func(h *ddp.Header) { h.ULP = tag }
	want("Send with Invalidate", with(onQueue(rdmap.OpSendInvalidate, 2), ulp))
	remote := transport.Remote{STag: 0x4567, Offset: at}
	l.post(&transport.WorkRequest{Op: transport.OpWrite, Local: list, Remote: remote})
	want("Write", toSTag(rdmap.OpWrite, 0x4567, at))
	p.send(segment(onQueue(rdmap.OpReadRequest, 1), readRequest(w.STag, w.Base, size)))
	want("Read Response", toSTag(rdmap.OpReadResponse, 0x51417a6, 0x1000))
	l.post(&transport.WorkRequest{Op: transport.OpSend, Local: slices(nil)})
	p.want("empty Send", segment(onQueue(rdmap.OpSend, 3), ""))
}

// TestMSNWraps checks that the message numbers of each queue wrap from 0xFFFFFFFF to 0:
// rfc5041-4.3-6.
func TestMSNWraps(t *testing.T) {
	p, l := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff}).connect()
	w := l.expose(transport.RemoteRead, []byte("data"))
	const last = 1<<32 - 1
	iwarp.SetMSN(l.Endpoint, last)
	l.receives(3)
	l.start()
	sink := make([]byte, 3)
	for i, msn := range []uint32{last, 0, 1} {
		p.send(segment(onQueue(rdmap.OpSend, msn), "to you"))
		l.wantMessage("to you")
		l.send("to me")
		p.want("Send", segment(onQueue(rdmap.OpSend, msn), "to me"))
		p.send(segment(onQueue(rdmap.OpReadRequest, msn), readRequest(w.STag, w.Base, 4)))
		p.want("Read Response", segment(toSTag(rdmap.OpReadResponse, 0x51417a6, 0x1000), "data"))
		l.post(&transport.WorkRequest{
			Op: transport.OpRead, Flags: transport.Signaled,
			Local: slices(sink[i : i+1]), Remote: transport.Remote{STag: 1},
		})
		r := p.wantReadRequest(msn)
		p.send(segment(toSTag(rdmap.OpReadResponse, r.SinkSTag, r.SinkOffset), "x"))
		if err := hang.Receive(t, "completion", l.completions); err != nil {
			t.Fatal(err)
		}
	}
}

// elsewhereConn is a connection with another remote address.
type elsewhereConn struct {
	net.Conn
	remote net.Addr
}

func (c elsewhereConn) RemoteAddr() net.Addr { return c.remote }

// oneConn is a listener that returns one connection.
type oneConn struct {
	net.Listener
	conn chan net.Conn
}

func (l oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l.conn; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l oneConn) Addr() net.Addr { return &net.TCPAddr{} }
func (l oneConn) Close() error   { close(l.conn); return nil }

// TestCRCDefault checks the C bit without configuration: it is set, except for peers with a
// loopback address (rfc5044-1.2-2, rfc5044-4.4-2).
func TestCRCDefault(t *testing.T) {
	for _, tt := range []struct {
		addr string
		want bool
	}{
		{"192.0.2.1", true}, {"2001:db8::1", true},
		{"127.0.0.1", false}, {"127.9.9.9", false}, {"::1", false},
	} {
		remote := &net.TCPAddr{IP: net.ParseIP(tt.addr), Port: 20049}
		bits := byte(0x10)
		if tt.want {
			bits |= 0x40
		}
		t.Run("dialing/"+tt.addr, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			below := func(context.Context, string, string) (net.Conn, error) {
				return elsewhereConn{ours, remote}, nil
			}
			d := iwarp.Dialer{DialContext: below}
			ctx, cancel := context.WithCancel(t.Context())
			dialed := make(chan error, 1)
			go func() {
				_, err := d.Dial(ctx, "", nil)
				dialed <- err
			}()
			request := make([]byte, 20)
			if _, err := io.ReadFull(theirs, request); err != nil {
				t.Fatal(err)
			}
			if request[16] != bits {
				t.Errorf("the request has flags %#02x, want %#02x", request[16], bits)
			}
			cancel()
			if err := hang.Receive(t, "Dial", dialed); err == nil {
				t.Error("Dial succeeds without a reply")
			}
		})
		t.Run("listening/"+tt.addr, func(t *testing.T) {
			ours, theirs := net.Pipe()
			below := oneConn{conn: make(chan net.Conn, 1)}
			below.conn <- elsewhereConn{ours, remote}
			l, err := iwarp.NewListener(below, iwarp.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			reply := make(chan []byte, 1)
			go func() {
				_, _ = theirs.Write(requestFrame(0x10, 2, clientServer))
				b := make([]byte, 20)
				_, _ = io.ReadFull(theirs, b)
				reply <- b
				_, _ = io.Copy(io.Discard, theirs)
			}()
			req, err := l.Accept(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ep, err := req.Accept(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := hang.Receive(t, "reply", reply); got[16] != bits {
				t.Errorf("the reply has flags %#02x, want %#02x", got[16], bits)
			}
			ep.Close()
			theirs.Close()
			<-ep.Done()
		})
	}
}

// TestBadReplyCloses has a dialer that gets a malformed reply. It closes the connection, and
// returns the reason (rfc5044-7.1.1-4, rfc5044-7.1.2-6, rfc5044-8-2).
func TestBadReplyCloses(t *testing.T) {
	for _, tt := range []struct{ name, reply string }{
		{"another key", "MPA ID Rep frame\x10\x02\x00\x04" + clientServer},
		{"a request", string(requestFrame(0x10, 2, clientServer))},
		{"another protocol", "HTTP/1.1 400 Bad Request\r\n\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff, Enhanced: mpa.EnhancedRequired})
			dial := r.dial(t.Context())
			p := acceptPeer(t, r.peers)
			p.readStartup()
			p.write([]byte(tt.reply))
			d := hang.Receive(t, "Dial", dial)
			if !errors.Is(d.err, mpa.ErrFrame) || d.ep != nil {
				t.Errorf("Dial: got %v, %v, want %v", d.ep, d.err, mpa.ErrFrame)
			}
			p.wantEnd()
			r.wantCounters(map[string]int{"HandshakeFailures": 1})
		})
	}
}
