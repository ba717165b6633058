package hostile_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/gateway"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

const eve = "127.6.6.6"

// calls splits a client's output over TCP into calls.
func calls(b []byte) (all [][]byte) {
	for len(b) >= 4 {
		n := int(binary.BigEndian.Uint32(b) &^ (1 << 31))
		all = append(all, b[4:4+n])
		b = b[4+n:]
	}
	return all
}

// intrudes connects from another host.
func (r *realm) intrudes(tcp bool) *peer {
	r.t.Helper()
	w := byIWARP
	if tcp {
		w = byTCP
	}
	return r.intrudesAt(r.site, w)
}

func (r *realm) intrudesAt(s *site, w way) *peer {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	r.t.Cleanup(cancel)
	p := newPeer(ctx, s, eve, w)
	if p.reach(new(attack), s); !p.ok() {
		r.t.Fatal(p.err)
	}
	context.AfterFunc(ctx, p.close)
	return p
}

// TestGSSSniffed lets an intruder send data captured between a client and the server, unchanged and
// changed, over its own connections. Nothing is executed. Its connections end where RFC 2203
// discards calls. The client keeps its context and its connection.
func TestGSSSniffed(t *testing.T) {
	for _, tcp := range []bool{true, false} {
		name := map[bool]string{true: "TCP", false: "RDMA"}[tcp]
		t.Run(name, func(t *testing.T) {
			r := newRealm(t)
			alice := r.joins("127.0.1.1", "TCP", gss.Integrity)
			work(t, 1, alice)
			alice.sent.taken()
			work(t, 3, alice)
			heard := calls(alice.sent.taken())
			if len(heard) != 3 {
				t.Fatalf("heard %d calls", len(heard))
			}
			r.executed()
			r.sniffed(t, tcp, heard)
			if got := r.executed(); len(got) > 0 {
				t.Errorf("%d calls were executed: %x", len(got), got)
			}
			work(t, 10, alice)
			if n := alice.begun.Load(); n != 1 {
				t.Errorf("the client has made %d contexts, want to keep one", n)
			}
			s := r.flavor.Stats()
			if s.Replays != 3 || s.ConnsClosed != 3 || s.OutOfWindow+s.Destroyed != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// sniffed sends captured data.
func (r *realm) sniffed(t *testing.T, tcp bool, heard [][]byte) {
	for _, call := range heard { // unchanged
		p := r.intrudes(tcp)
		p.sendRPC(tcp, call)
		if reply := p.rpcReply(tcp); p.ok() {
			t.Errorf("a replay is answered: %x", reply)
		}
		if p.ctx.Err() != nil {
			t.Error("the connection of a replay is not closed")
		}
	}
	set := func(at int, to uint32) func([]byte) {
		return func(b []byte) { binary.BigEndian.PutUint32(b[at:], to) }
	}
	null := func(proc uint32) func([]byte) {
		return func(b []byte) { set(atGSS, proc)(b); set(atProcedure, 0)(b) }
	}
	p := r.intrudes(tcp)
	for _, tt := range []struct {
		name   string
		change func(b []byte)
		want   string
	}{
		{"the next number", set(atSeq, 5), "RPCSEC_GSS_CREDPROBLEM"},
		{"a high number", set(atSeq, 0x7ffffff0), "RPCSEC_GSS_CREDPROBLEM"},
		{"a number beyond all", set(atSeq, 0xffffffff), "RPCSEC_GSS_CREDPROBLEM"},
		{"another transaction", set(atXID, 1), "RPCSEC_GSS_CREDPROBLEM"},
		{"another program", set(atProgram, 100003), "RPCSEC_GSS_CREDPROBLEM"},
		{"another version", set(atVersion, 7), "RPCSEC_GSS_CREDPROBLEM"},
		{"another procedure", set(atProcedure, 0), "RPCSEC_GSS_CREDPROBLEM"},
		{"no service", set(atService, uint32(gss.None)), "RPCSEC_GSS_CREDPROBLEM"},
		{"privacy", set(atService, uint32(gss.Privacy)), "RPCSEC_GSS_CREDPROBLEM"},
		{"a service that there is not", set(atService, 4), "AUTH_BADCRED"},
		{"another version of RPCSEC_GSS", set(32, 2), "AUTH_BADCRED"},
		{"DESTROY of procedure 1", set(atGSS, gssDestroy), "AUTH_BADCRED"},
		{"DESTROY", null(gssDestroy), "RPCSEC_GSS_CREDPROBLEM"},
		{"INIT of procedure 1", set(atGSS, gssInit), "AUTH_BADCRED"},
		{"INIT", null(gssInit), "AUTH_BADVERF"},
		{"CONTINUE_INIT", null(gssContinue), "AUTH_BADVERF"},
		{"a procedure of RPCSEC_GSS that there is not", set(atGSS, 5), "AUTH_BADCRED"},
		{"another handle", func(b []byte) { b[atHandle] ^= 1 }, "RPCSEC_GSS_CREDPROBLEM"},
		{"a handle of no length", set(atHandle-4, 0), "AUTH_BADCRED"},
		{"a handle that is too long", set(atHandle-4, 381), "AUTH_BADCRED"},
		{"a handle of 4 GiB", set(atHandle-4, 0xffffffff), "AUTH_BADCRED"},
		{"AUTH_NONE", set(24, 0), "AUTH_BADCRED"},
	} {
		b := bytes.Clone(heard[0])
		tt.change(b)
		p.sendRPC(tcp, b)
		reply := p.rpcReply(tcp)
		if !p.ok() {
			t.Fatalf("%s: %v", tt.name, p.err)
		}
		if got := said(reply); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestGSSReordered sends calls of one context over several connections in any order, which is
// allowed, and again, which is not.
func TestGSSReordered(t *testing.T) {
	r := newRealm(t)
	p := r.intrudes(true)
	made, handle := p.context(r, "alice@TEST", true, true)
	peers := []*peer{p, r.intrudes(true), r.intrudes(false)}
	arg := opaque([]byte("text"))
	answered := func(i int, seq uint32) string {
		q := peers[i]
		q.sendRPC(q != peers[2], q.protected(made, handle, seq, gss.Privacy, arg))
		reply := q.rpcReply(q != peers[2])
		if !q.ok() {
			return "nothing"
		}
		return said(reply)
	}
	// The window is 8192 numbers long (RFC 2203 section 5.2.3.1).
	for i, seq := range []uint32{
		9000, 1000, 8999, 809, 5000, 4999, 5001, 0x7fffffff, 0x7fffffff - 8191,
	} {
		if got := answered(i%3, seq); got != "SUCCESS" {
			t.Errorf("number %d: %s", seq, got)
		}
	}
	if got := answered(0, 0x80000000); got != "RPCSEC_GSS_CTXPROBLEM" {
		t.Errorf("number 0x80000000: %s", got)
	}
	for i, seq := range []uint32{0x7fffffff, 0x7fffffff - 8192, 0x7fffffff - 8191} {
		if got := answered(i, seq); got != "nothing" || peers[i].ctx.Err() != nil {
			t.Errorf("number %d again, or below the window: %s", seq, got)
		}
	}
	if s := r.flavor.Stats(); s.Replays != 2 || s.OutOfWindow != 1 || s.ConnsClosed != 3 {
		t.Errorf("%+v", s)
	}
}

// TestGSSChunks offers chunks with calls whose arguments or results are protected.
func TestGSSChunks(t *testing.T) {
	r := newRealm(t)
	p := r.intrudes(false)
	made, handle := p.context(r, "eve@TEST", false, true)
	seq := uint32(0)
	call := func(s gss.Service, text string) []byte {
		seq++
		return p.protected(made, handle, seq, s, opaque([]byte(text)))
	}

	t.Run("a write list with privacy", func(t *testing.T) {
		lists := chunks.Lists{Writes: []chunks.WriteChunk{{{Handle: 77, Length: 4096}}}}
		p.send(p.call(0, lists, call(gss.Privacy, "nothing is placed")))
		for p.ok() {
			h, b := p.segment()
			_, op := rdmap.ParseControl(h.Control)
			if op == rdmap.OpWrite {
				t.Errorf("an RDMA Write with %x", b)
			}
			if op != rdmap.OpSend && op != rdmap.OpSendInvalidate {
				continue
			}
			var head rpcrdma.Header
			n, err := head.Parse(b)
			if err != nil || len(head.Writes) != 1 || len(head.Writes[0]) != 1 ||
				head.Writes[0][0].Length != 0 {
				t.Errorf("lists %+v, %v; want the write list with nothing in it", head.Lists, err)
			}
			if got := said(b[n:]); got != "SUCCESS" {
				t.Error(got)
			}
			break
		}
		if !p.ok() {
			t.Fatal(p.err)
		}
	})

	// serves answers the server's RDMA Reads with b, and then with other. It returns the reply.
	serves := func(b, other []byte) string {
		for p.ok() {
			h, payload := p.segment()
			switch _, op := rdmap.ParseControl(h.Control); op {
			case rdmap.OpReadRequest:
				q, err := rdmap.ParseReadRequest(payload)
				if err != nil {
					t.Fatal(err)
				}
				p.write(p.responseWith(q, b)...)
				if other != nil {
					p.write(p.responseWith(q, other)...)
				}
			case rdmap.OpSend, rdmap.OpSendInvalidate:
				var head rpcrdma.Header
				n, err := head.Parse(payload)
				if err != nil {
					t.Fatal(err)
				}
				if head.Type == rpcrdma.TypeError {
					return "RDMA_ERROR"
				}
				return said(payload[n:])
			}
		}
		return "nothing"
	}
	for _, tt := range []struct {
		name string
		more int // bytes of the chunk beyond the call
		want string
	}{
		{"a position-zero chunk", 0, "SUCCESS"},
		{"a position-zero chunk that is too short", -4, "GARBAGE_ARGS"},
		{"a position-zero chunk that is too long", 4, "GARBAGE_ARGS"},
	} {
		for _, s := range []gss.Service{gss.Integrity, gss.Privacy} {
			b := call(s, "a long call")
			b = append(b, make([]byte, max(tt.more, 0))...)
			b = b[:len(b)+min(tt.more, 0)]
			p.send(p.call(rpcrdma.TypeNoMsg, readFrom(0, uint32(len(b))), nil))
			if got := serves(b, nil); got != tt.want {
				t.Errorf("%s, %v: %s, want %s", tt.name, s, got, tt.want)
			}
		}
	}

	// If arguments are protected, bulk data by chunk is not the signed data.
	for _, s := range []gss.Service{gss.Integrity, gss.Privacy} {
		b := call(s, "four and eight bytes")
		at := len(b) - 32
		rest := append(bytes.Clone(b[:at]), b[at+16:]...)
		p.send(p.call(0, readFrom(uint32(at), 16), rest))
		if got := serves(b[at:at+16], nil); got != "GARBAGE_ARGS" {
			t.Errorf("a read chunk amid the arguments, %v: %s", s, got)
		}
	}

	// The server checks and executes the same bytes that it has read.
	r.executed()
	for range 20 {
		b, other := call(gss.Integrity, "good"), call(gss.Integrity, "good")
		at := bytes.Index(other, []byte("good"))
		copy(other[at:], "evil")
		p.send(p.call(rpcrdma.TypeNoMsg, readFrom(0, uint32(len(b))), nil))
		serves(b, other)
		if p.ok() {
			continue
		}
		if p.ctx.Err() != nil {
			t.Fatal(p.err)
		}
		q := r.intrudes(false) // since the server has ended the connection
		q.xid, p = p.xid, q
		p.null()
	}
	for _, b := range r.executed() {
		if string(b) != "good" {
			t.Errorf("executed with %q", b)
		}
	}
}

// responseWith returns a response to an RDMA Read of a chunk with offset 0.
func (p *peer) responseWith(q rdmap.ReadRequest, b []byte) []byte {
	b = b[min(int(q.SourceOffset), len(b)):]
	b = b[:min(int(q.Len), len(b))]
	b = append(bytes.Clone(b), make([]byte, int(q.Len)-len(b))...)
	return tagged(rdmap.OpReadResponse, uint32(q.SinkSTag), q.SinkOffset, b)
}

// TestGSSGateway lets an intruder repeat a client's data through the gateway that the client used.
// Only the intruder's connection ends, although all calls reach the server from the gateway's host.
func TestGSSGateway(t *testing.T) {
	r := newRealm(t)
	g, err := gateway.New(gateway.Config{
		Logger: quiet, Dial: func(ctx context.Context) (oncrpc.Transport, error) {
			d := iwarp.Dialer{Config: iwarp.Config{Logger: quiet}}
			return rpcrdma.Dial(ctx, d, r.rdma, rpcrdma.Config{Logger: quiet})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet, Forward: g.Forward})
	served := make(chan error, 1)
	go func() {
		served <- recordmark.Serve(context.Background(), l, front, recordmark.Config{Logger: quiet})
	}()
	t.Cleanup(func() {
		front.Close()
		<-served
	})
	direct := r.tcp
	r.tcp = l.Addr().String()
	alice := r.joins("127.0.1.1", "TCP", gss.Privacy)
	work(t, 1, alice)
	alice.sent.taken()
	work(t, 3, alice)
	heard := calls(alice.sent.taken())
	r.executed()
	for _, call := range heard {
		for _, addr := range []string{r.tcp, direct} {
			p := r.intrudesAt(&site{tcp: addr, dialer: dialFrom}, byTCP)
			p.sendRPC(true, call)
			if reply := p.rpcReply(true); p.ok() || p.ctx.Err() != nil {
				t.Errorf("a replay: %x, %v", reply, p.err)
			}
		}
	}
	p := r.intrudes(true)
	for range 2 * gssContexts {
		p.context(r, "eve@TEST", true, true)
	}
	if !p.ok() {
		t.Fatal(p.err)
	}
	if got := r.executed(); len(got) > 0 {
		t.Errorf("%d calls were executed", len(got))
	}
	work(t, 10, alice)
	s := r.flavor.Stats()
	if s.Replays != 6 || s.ConnsClosed != 6 || s.Contexts > gssContexts {
		t.Errorf("%+v", s)
	}
}
