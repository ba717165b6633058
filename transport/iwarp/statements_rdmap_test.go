package iwarp_test

import (
	"bytes"
	"errors"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// TestReadsWithinORD posts more RDMA Reads than the ORD. The peer never has more Read Requests than
// that, whatever the order of answers and posts (rpcrdma-3.3-14, rfc5040-6.1-4).
func TestReadsWithinORD(t *testing.T) {
	const ord, all = 2, 10
	p, l := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff, ORD: ord}).connect()
	l.start()
	sinks := make([]byte, all)
	for i := range sinks {
		l.post(&transport.WorkRequest{
			Op: transport.OpRead, Flags: transport.Signaled,
			Local: slices(sinks[i : i+1]), Remote: transport.Remote{STag: 5, Offset: uint64(i)},
		})
	}
	var requests []rdmap.ReadRequest
	for i := range uint32(ord) {
		requests = append(requests, p.wantReadRequest(i+1))
	}
	for i := range all {
		p.wantSilence()
		r := requests[i]
		if r.SourceOffset != uint64(i) {
			t.Fatalf("Read Request %d is for offset %d: the order is not kept", i, r.SourceOffset)
		}
		p.send(segment(toSTag(rdmap.OpReadResponse, r.SinkSTag, r.SinkOffset), string(rune('a'+i))))
		if err := hang.Receive(t, "completion", l.completions); err != nil {
			t.Fatal(err)
		}
		if n := len(requests); n < all {
			requests = append(requests, p.wantReadRequest(uint32(n+1)))
		}
	}
	if string(sinks) != "abcdefghij" {
		t.Errorf("read %q", sinks)
	}
}

// named tells which request has completed.
type named struct {
	name string
	to   chan<- string
}

func (n named) Complete(_ *transport.WorkRequest, err error) {
	if err != nil {
		n.name += ": " + err.Error()
	}
	n.to <- n.name
}

// TestCompletionOrder posts a Write, an RDMA Read, a Send and a Write. Those after the Read are
// sent at once, but complete only after its response (rfc5040-5.5-6, rfc5040-5.5-9).
func TestCompletionOrder(t *testing.T) {
	p, l := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff}).connect()
	l.start()
	completed := make(chan string, 10)
	post := func(name string, wr transport.WorkRequest) {
		wr.Flags, wr.Done = transport.Signaled, named{name, completed}
		if err := l.Post(&wr); err != nil {
			t.Fatal(err)
		}
	}
	data, sink := slices([]byte("data")), make([]byte, 4)
	remote := transport.Remote{STag: 5}
	post("first", transport.WorkRequest{Op: transport.OpWrite, Local: data, Remote: remote})
	post("Read", transport.WorkRequest{Op: transport.OpRead, Local: slices(sink), Remote: remote})
	post("Send", transport.WorkRequest{Op: transport.OpSend, Local: data})
	post("last", transport.WorkRequest{Op: transport.OpWrite, Local: data, Remote: remote})
	p.want("Write", segment(toSTag(rdmap.OpWrite, 5, 0), "data"))
	r := p.wantReadRequest(1)
	p.want("Send", segment(onQueue(rdmap.OpSend, 1), "data"))
	p.want("Write", segment(toSTag(rdmap.OpWrite, 5, 0), "data"))
	if got := hang.Receive(t, "completion", completed); got != "first" {
		t.Errorf("%s has completed, want the Write in front of the Read", got)
	}
	p.wantSilence()
	if n := len(completed); n > 0 {
		t.Errorf("%s has completed before the Read", <-completed)
	}
	p.send(segment(toSTag(rdmap.OpReadResponse, r.SinkSTag, r.SinkOffset), "back"))
	for _, want := range []string{"Read", "Send", "last"} {
		if got := hang.Receive(t, "completion", completed); got != want {
			t.Errorf("%s has completed, want %s", got, want)
		}
		if string(sink) != "back" {
			t.Errorf("read %q", sink)
		}
	}
}

// TestInvalidateFieldIgnored sets the unused fields of Sends, Writes and Read Requests. They are
// ignored, and no window ends (rfc5040-4.1-6, rfc5040-4.1-7).
func TestInvalidateFieldIgnored(t *testing.T) {
	s := newViolationRig(t, newRig(t, false, violationConfig(iwarp.CRCOff)))
	odd := func(h ddp.Header) []byte {
		h.ULP, h.Control = uint32(s.invalidatable.STag), h.Control|0x30
		b := h.Append(nil)
		b[0] |= 0x3c // reserved by DDP
		return b
	}
	window := toSTag(rdmap.OpWrite, s.writable.STag, s.writable.Base)
	s.peer.send(append(odd(window), "odd"...))
	s.place(atWritable, "odd")
	s.peer.send(append(odd(onQueue(rdmap.OpSend, 2)), "first"...))
	s.wantMessage("first")
	s.peer.send(append(odd(onQueue(rdmap.OpSendSE, 3)), "second"...))
	s.wantMessage("second")
	s.place(atReceives+2, "first")
	s.place(atReceives+4, "second")
	request := readRequest(s.readable.STag, s.readable.Base, 4)
	s.peer.send(append(odd(onQueue(rdmap.OpReadRequest, 1)), request...))
	shown := string(piece(s.memory, atReadable)[:4])
	s.peer.want("Read Response", segment(toSTag(rdmap.OpReadResponse, 0x51417a6, 0x1000), shown))
	s.wantMemory()
	// The window still exists, and can be invalidated properly.
	s.PostRecv(&transport.RecvRequest{Local: slices(make([]byte, 8))})
	tag := func(h *ddp.Header) { h.ULP = uint32(s.invalidatable.STag) }
	s.peer.send(segment(with(onQueue(rdmap.OpSendInvalidate, 4), tag), "end"))
	s.wantMessage("end")
}

// TestFirstErrorReported has a peer make two errors at once. The Terminate is about the first; the
// second places nothing, nor does what follows it (rfc5040-7.1-5, rfc5041-7.1-4).
func TestFirstErrorReported(t *testing.T) {
	s := newViolationRig(t, newRig(t, false, violationConfig(iwarp.CRCOff)))
	first := segment(toSTag(rdmap.OpWrite, s.readable.STag, s.readable.Base), "x")
	second := segment(with(onQueue(rdmap.OpSend, 2), queue(3)), "x")
	right := segment(toSTag(rdmap.OpWrite, s.writable.STag, s.writable.Base), "late")
	message := segment(onQueue(rdmap.OpSend, 2), "late")
	s.peer.send(first, second, right, message)
	wantTerminated(t, s.ended(), rdmap.ProtectionAccess, false, transport.ErrAccess)
	s.wantTerminate(terminateBytes(rdmap.ProtectionAccess, first, true, false))
	s.wantFIN()
	s.wantMemory()
	if n := len(s.messages); n > 0 {
		t.Errorf("%d messages were delivered behind the error", n)
	}
}

// TestPostBehindClose checks that requests posted after the end of a connection fail:
// rfc5041-6.2.1-1.
func TestPostBehindClose(t *testing.T) {
	_, l := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff}).connect()
	l.start()
	l.Close()
	for _, op := range []transport.Op{transport.OpSend, transport.OpWrite, transport.OpRead} {
		wr := &transport.WorkRequest{
			Op: op, Local: slices(make([]byte, 4)), Remote: transport.Remote{STag: 5}, Done: l,
		}
		if err := l.Post(wr); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v: error %v, want one of the end", op, err)
		}
	}
}

// TestMalformedRequestSendsNothing posts invalid requests. Post fails, nothing is sent, and the
// connection goes on (rfc5040-7.1-2).
func TestMalformedRequestSendsNothing(t *testing.T) {
	p, l := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff}).connect()
	l.start()
	err := l.Post(&transport.WorkRequest{Op: 99, Done: l})
	if !errors.Is(err, transport.ErrWorkRequest) {
		t.Errorf("error %v, want %v", err, transport.ErrWorkRequest)
	}
	l.send("next")
	if got, want := p.segment(), segment(onQueue(rdmap.OpSend, 1), "next"); !bytes.Equal(got, want) {
		t.Errorf("sent (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// TestReadsAnswered has a peer send as many Read Requests as the IRD allows, one of them with
// length zero and a tag that does not exist. The responses come in that order, each to its own
// sink, and not before the whole request has arrived (rfc5040-5.2.1-7 to rfc5040-5.2.1-12,
// rfc5040-5.2.2-2 to rfc5040-5.2.2-5, rfc5040-5.5-8, rfc5040-5.5-10).
func TestReadsAnswered(t *testing.T) {
	const ird = 4
	p, l := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOff, IRD: ird}).connect()
	w := l.expose(transport.RemoteRead, []byte("abcdefgh"))
	l.start()
	var all []byte
	request := func(i uint32, tag transport.STag, n uint32) []byte {
		r := rdmap.ReadRequest{
			SinkSTag: transport.STag(0x100 + i), SinkOffset: 0x1000 * uint64(i),
			Len: n, SourceSTag: tag, SourceOffset: w.Base + uint64(i),
		}
		return p.frame(segment(onQueue(rdmap.OpReadRequest, i), string(r.Append(nil))))
	}
	for i := range uint32(ird - 1) {
		all = append(all, request(1+i, w.STag, 2)...)
	}
	all = append(all, request(ird, 0x7777777, 0)...)
	for i, b := range all { // until its last byte, a request gets no response
		if i == len(all)/ird-1 {
			p.wantSilence()
		}
		p.write([]byte{b})
	}
	for i, want := range []string{"bc", "cd", "de", ""} {
		h := toSTag(rdmap.OpReadResponse, transport.STag(0x101+i), 0x1000*uint64(1+i))
		p.want("Read Response", segment(h, want))
	}
	alive(p, l)
}
