package trace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// startup takes the startup frame off a stream.
func startup(t *testing.T, b []byte) (f mpa.Frame, rest []byte) {
	t.Helper()
	f, n, err := mpa.ParseFrame(b)
	if err != nil {
		t.Fatal(err)
	}
	return f, b[n:]
}

// segments takes the FPDUs of a stream apart (RFC 5044 section 4.1), and says of each segment what
// it is, with the payload of short ones.
func segments(t *testing.T, b []byte) (all []string) {
	t.Helper()
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	for len(b) > 0 {
		n := 2 + int(binary.BigEndian.Uint16(b))
		padded := (n + 3) / 4 * 4
		if crc := crc32.Checksum(b[:padded], castagnoli); crc != binary.LittleEndian.Uint32(b[padded:]) {
			t.Fatalf("segment %d: CRC %#x", len(all), crc)
		}
		h, payload, err := ddp.Parse(b[2:n])
		if err != nil || h.Version != 1 {
			t.Fatalf("segment %d: %+v, %v", len(all), h, err)
		}
		_, op := rdmap.ParseControl(h.Control)
		s := fmt.Sprintf("%v last=%t ", op, h.Last)
		switch {
		case h.Tagged:
			s += fmt.Sprintf("stag=%#x to=%d", h.STag, h.Offset)
		case op == rdmap.OpReadRequest:
			r, err := rdmap.ParseReadRequest(payload)
			if err != nil {
				t.Fatal(err)
			}
			s += fmt.Sprintf("msn=%d sink=%#x source=%#x from=%d len=%d", h.MSN, r.SinkSTag,
				r.SourceSTag, r.SourceOffset, r.Len)
			payload = nil
		default:
			s += fmt.Sprintf("qn=%d msn=%d mo=%d ulp=%#x", h.Queue, h.MSN, h.MO, h.ULP)
		}
		if len(payload) > 20 {
			s += fmt.Sprintf(" %d bytes", len(payload))
		} else if len(payload) > 0 {
			s += fmt.Sprintf(" %q", payload)
		}
		all = append(all, s)
		b = b[padded+4:]
	}
	return all
}

// name is the address of an end that has none of IP.
type name string

func (n name) Network() string { return "loopback" }
func (n name) String() string  { return string(n) }

// TestRDMA: work requests are shown as iWARP segments.
func TestRDMA(t *testing.T) {
	w, file := newWriter(t)
	r := w.RDMA(
		transport.Info{LocalAddr: name("a:1"), PrivateData: []byte("of the listener")},
		transport.Info{LocalAddr: name("b"), PrivateData: []byte("of the dialer")},
	)
	local := func(pieces ...string) (list []transport.Slice) {
		for _, p := range pieces {
			list = append(list, transport.Slice{Bytes: []byte(p)})
		}
		return list
	}
	long := string(bytes.Repeat([]byte("long"), 20_000))
	for _, step := range []struct {
		dialing bool
		wr      transport.WorkRequest
	}{
		{true, transport.WorkRequest{Op: transport.OpSend, Local: local("in", "", " two")}},
		{true, transport.WorkRequest{Op: transport.OpSend, Flags: transport.Solicited}},
		{false, transport.WorkRequest{
			Op: transport.OpSendInvalidate, Invalidate: 0x12, Local: local("reply"),
		}},
		{false, transport.WorkRequest{
			Op: transport.OpSendInvalidate, Invalidate: 0x34, Flags: transport.Solicited,
		}},
		{false, transport.WorkRequest{Op: transport.OpInvalidate, Invalidate: 1}},
		{false, transport.WorkRequest{
			Op: transport.OpWrite, Remote: transport.Remote{STag: 0x77, Offset: 1 << 40},
			Local: local(long, "end"),
		}},
		{false, transport.WorkRequest{
			Op: transport.OpRead, Remote: transport.Remote{STag: 0x88, Offset: 5},
			Local: local("what ", "was read"),
		}},
		{false, transport.WorkRequest{Op: transport.OpRead, Remote: transport.Remote{STag: 0x99}}},
		{true, transport.WorkRequest{Op: transport.OpSend, Local: local(long)}},
	} {
		r.Executed(step.dialing, &step.wr)
	}
	r.Ended()
	c := connections(t, decode(t, file.Bytes()))[0]
	const first = 65400 - 32 // bytes in the first segment of a long message
	for from, want := range [][]string{
		{
			`Send last=true qn=0 msn=1 mo=0 ulp=0x0 "in two"`,
			`Send with Solicited Event last=true qn=0 msn=2 mo=0 ulp=0x0`,
			`RDMA Read Response last=true stag=0x1 to=0 "what was read"`,
			`RDMA Read Response last=true stag=0x2 to=0`,
			fmt.Sprintf(`Send last=false qn=0 msn=3 mo=0 ulp=0x0 %d bytes`, first),
			fmt.Sprintf(`Send last=true qn=0 msn=3 mo=%d ulp=0x0 %d bytes`, first, len(long)-first),
		},
		{
			`Send with Invalidate last=true qn=0 msn=1 mo=0 ulp=0x12 "reply"`,
			`Send with Solicited Event and Invalidate last=true qn=0 msn=2 mo=0 ulp=0x34`,
			fmt.Sprintf(`RDMA Write last=false stag=0x77 to=%d %d bytes`, 1<<40, first),
			fmt.Sprintf(`RDMA Write last=true stag=0x77 to=%d %d bytes`, 1<<40+first, len(long)+3-first),
			`RDMA Read Request last=true msn=1 sink=0x1 source=0x88 from=5 len=13`,
			`RDMA Read Request last=true msn=2 sink=0x2 source=0x99 from=0 len=0`,
		},
	} {
		f := c.flows[from]
		start, rest := startup(t, f.bytes)
		private := []string{"of the dialer", "of the listener"}[from]
		if start.Reply != (from == 1) || !start.CRC || start.Markers ||
			string(start.PrivateData) != private {
			t.Errorf("end %d: startup %+v", from, start)
		}
		if diff := cmp.Diff(want, segments(t, rest)); diff != "" {
			t.Errorf("end %d (-want +got):\n%s", from, diff)
		}
		if f.end != fin {
			t.Errorf("end %d: end %#x", from, f.end)
		}
	}
}

// TestLoopback: the trace has the requests that package loopback executed, in order, and no failed
// ones.
func TestLoopback(t *testing.T) {
	w, file := newWriter(t)
	fabric := loopback.New()
	w.Loopback(fabric)
	l, err := fabric.Listen("server", loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var server transport.Endpoint
	accepted := make(chan error, 1)
	go func() {
		req, err := l.Accept(context.Background())
		if err == nil {
			server, err = req.Accept(context.Background(), transport.Private([]byte("there")))
		}
		accepted <- err
	}()
	client, err := fabric.Dialer(loopback.Config{}).Dial(t.Context(), "server",
		transport.Private([]byte("here")))
	if err != nil {
		t.Fatal(err)
	}
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	done := make(completions, 10)
	memory := []byte("memory of the client")
	regions, err := client.Expose(nil, list(memory), transport.RemoteRead|transport.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 20)
	if err := server.PostRecv(&transport.RecvRequest{Local: list(buffer)}); err != nil {
		t.Fatal(err)
	}
	client.Start(done)
	server.Start(done)
	at := func(off uint64) transport.Remote {
		return transport.Remote{STag: regions[0].STag, Offset: regions[0].Base + off}
	}
	post := func(ep transport.Endpoint, wr *transport.WorkRequest) error {
		wr.Done, wr.Flags = done, transport.Signaled
		if err := ep.Post(wr); err != nil {
			t.Fatal(err)
		}
		return <-done
	}
	read := make([]byte, 6)
	for _, step := range []struct {
		ep transport.Endpoint
		wr *transport.WorkRequest
	}{
		{client, &transport.WorkRequest{Op: transport.OpSend, Local: list([]byte("call"))}},
		{server, &transport.WorkRequest{Op: transport.OpRead, Local: list(read), Remote: at(0)}},
		{server, &transport.WorkRequest{Op: transport.OpWrite, Local: list([]byte("x")), Remote: at(3)}},
	} {
		if err := post(step.ep, step.wr); err != nil {
			t.Fatal(err)
		}
	}
	fails := &transport.WorkRequest{Op: transport.OpSend, Local: list([]byte("no receive"))}
	if post(client, fails) == nil {
		t.Error("a Send without a receive went well")
	}
	<-client.Done()
	packets := decode(t, file.Bytes())
	c := connections(t, packets)[0]
	for from, want := range [][]string{
		{
			`Send last=true qn=0 msn=1 mo=0 ulp=0x0 "call"`,
			`RDMA Read Response last=true stag=0x1 to=0 "memory"`,
		},
		{
			fmt.Sprintf(`RDMA Read Request last=true msn=1 sink=0x1 source=%#x from=%d len=6`,
				regions[0].STag, regions[0].Base),
			fmt.Sprintf(`RDMA Write last=true stag=%#x to=%d "x"`, regions[0].STag, regions[0].Base+3),
		},
	} {
		start, rest := startup(t, c.flows[from].bytes)
		if private := []string{"here", "there"}[from]; string(start.PrivateData) != private {
			t.Errorf("end %d: startup %+v", from, start)
		}
		if diff := cmp.Diff(want, segments(t, rest)); diff != "" || c.flows[from].end != fin {
			t.Errorf("end %d (-want +got), end %#x:\n%s", from, c.flows[from].end, diff)
		}
	}
}

// list is a list of one piece of memory.
func list(p []byte) []transport.Slice { return []transport.Slice{{Bytes: p}} }

// completions takes how work requests end.
type completions chan error

func (c completions) Received([]transport.Message)                 {}
func (c completions) Complete(_ *transport.WorkRequest, err error) { c <- err }
