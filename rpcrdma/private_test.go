package rpcrdma_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// hears returns what a server makes of the private data of a peer, as far as it can use it: its own
// sizes are the largest there are.
func (r *rig) hears(b []byte) privateData {
	r.t.Helper()
	ep, err := r.fabric.Dialer(loopback.Config{}).Dial(r.t.Context(), rigAddr, transport.Private(b))
	if err != nil {
		r.t.Fatal(err)
	}
	p := newRawPeer(r.t, ep)
	p.alive()
	var got privateData
	got.Recv, got.Send = wait(r.t, r.program.conns).Inline()
	h := header(1, rpcrdma.TypeMsg)
	h.AddWrite([]chunks.Segment{p.expose(make([]byte, 100), transport.RemoteWrite|transport.RemoteInvalidate)})
	p.send(h, callBytes(1, procSource, &source{1, 10}))
	_, _, m := p.nextMsg()
	got.Invalidate = m.hasInv
	return got
}

// says returns the private data of a client and of a server.
func says(t *testing.T, cfg rpcrdma.Config) (client, server []byte) {
	t.Helper()
	_, p := rawServer(t, cfg, privateData{})
	return p.ep.Info().PrivateData, newRig(t, cfg).raw(privateData{}).ep.Info().PrivateData
}

// Private data as RFC 8797 section 4 lays it out; the first two are what Linux 6.1's client
// and server say.
func TestPrivateGolden(t *testing.T) {
	r := newRig(t, rpcrdma.Config{InlineSend: rpcrdma.MaxInline, InlineRecv: rpcrdma.MaxInline})
	tests := []struct {
		name string
		hex  string
		want privateData
	}{
		{"Linux client", "f6ab0e18 01 01 03 03", privateData{Invalidate: true, Send: 4096, Recv: 4096}},
		{"Linux server", "f6ab0e18 01 00 03 03", privateData{Send: 4096, Recv: 4096}},
		{"smallest", "f6ab0e18 01 00 00 00", privateData{Send: 1024, Recv: 1024}},
		{"largest of ours", "f6ab0e18 01 01 3f 3f", privateData{Invalidate: true, Send: 65536, Recv: 65536}},
		{"largest there is", "f6ab0e18 01 01 ff ff", privateData{Invalidate: true, Send: 262144, Recv: 262144}},
		{"send and receive differ", "f6ab0e18 01 00 03 0f", privateData{Send: 4096, Recv: 16384}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.hex)
			if tt.want.Send <= rpcrdma.MaxInline {
				client, server := says(t, rpcrdma.Config{InlineSend: tt.want.Send, InlineRecv: tt.want.Recv, NoRemoteInvalidate: !tt.want.Invalidate})
				if !bytes.Equal(client, b) || !bytes.Equal(server, b) {
					t.Errorf("a client says % x, a server % x, want % x", client, server, b)
				}
			}
			want := tt.want
			want.Send, want.Recv = min(want.Send, rpcrdma.MaxInline), min(want.Recv,
				rpcrdma.MaxInline)
			if got := r.hears(b); got != want {
				t.Errorf("heard %+v, want %+v", got, want)
			}
			if got := r.hears(append(b, "and more"...)); got != want {
				t.Errorf("with bytes behind it: heard %+v, want %+v", got, want)
			}
			if got := r.hears(append(b, make([]byte, 56-len(b))...)); got != want {
				t.Errorf("padded as over RoCE: heard %+v, want %+v", got, want)
			}
		})
	}
}

// What says nothing leaves the defaults of RFC 8166.
func TestPrivateUnknown(t *testing.T) {
	r := newRig(t, rpcrdma.Config{InlineSend: rpcrdma.MaxInline, InlineRecv: rpcrdma.MaxInline})
	want := privateData{Send: 1024, Recv: 1024}
	for name, b := range map[string][]byte{
		"none":            nil,
		"zeros":           make([]byte, 56),
		"another magic":   unhex(t, "f6ab0e19 01 01 03 03"),
		"little-endian":   unhex(t, "180eabf6 01 01 03 03"),
		"version 0":       unhex(t, "f6ab0e18 00 01 03 03"),
		"version 2":       unhex(t, "f6ab0e18 02 01 03 03"),
		"something first": unhex(t, "00000000 f6ab0e18 01 01 03 03"),
	} {
		if got := r.hears(b); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	full := unhex(t, "f6ab0e18 01 01 03 03")
	for i := range full {
		if got := r.hears(full[:i]); got != want {
			t.Errorf("first %d bytes: %+v, want %+v", i, got, want)
		}
	}
}

// Bits that RFC 8797 reserves are ignored.
func TestPrivateReservedFlags(t *testing.T) {
	r := newRig(t, rpcrdma.Config{InlineSend: rpcrdma.MaxInline, InlineRecv: rpcrdma.MaxInline})
	if got, want := r.hears(unhex(t, "f6ab0e18 01 fe 03 03")), (privateData{Send: 4096, Recv: 4096}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := r.hears(unhex(t, "f6ab0e18 01 ff 03 03")); !got.Invalidate {
		t.Errorf("%+v, want remote invalidation", got)
	}
}

// The smaller of what one end sends and the other receives is what holds.
func TestLimits(t *testing.T) {
	tests := []struct {
		name                   string
		cfg                    rpcrdma.Config
		peer                   privateData
		inlineSend, inlineRecv int
		says                   privateData
	}{
		{"defaults on both ends", rpcrdma.Config{}, privateData{Send: 4096, Recv: 4096}, 4096, 4096, privateData{true, 4096, 4096}},
		{"a peer that says nothing", rpcrdma.Config{}, privateData{}, 1024, 1024, privateData{true, 4096, 4096}},
		{"a larger peer", rpcrdma.Config{}, privateData{Send: 65536, Recv: 65536}, 4096, 4096, privateData{true, 4096, 4096}},
		{"a smaller peer", rpcrdma.Config{InlineSend: 65536, InlineRecv: 65536}, privateData{Send: 2048, Recv: 8192}, 8192, 2048, privateData{true, 65536, 65536}},
		{"the smallest and the largest size", rpcrdma.Config{InlineSend: 1024, InlineRecv: 65536}, privateData{Send: 262144, Recv: 262144}, 1024, 65536, privateData{true, 1024, 65536}},
		{"an odd number of units", rpcrdma.Config{InlineSend: 5120, InlineRecv: 3072}, privateData{Send: 262144, Recv: 262144}, 5120, 3072, privateData{true, 5120, 3072}},
		{"receives as aligned", rpcrdma.Config{Dialect: rpcrdma.Draft, Align: 4096}, privateData{Send: 262144, Recv: 262144}, 4096, 8192, privateData{true, 4096, 8192}},
		{"receives as aligned, at the most", rpcrdma.Config{Dialect: rpcrdma.Draft, Align: 32768}, privateData{Send: 262144, Recv: 262144}, 4096, 65536, privateData{true, 4096, 65536}},
		{"receives larger than aligned", rpcrdma.Config{Dialect: rpcrdma.Draft, Align: 64}, privateData{Send: 262144, Recv: 262144}, 4096, 4096, privateData{true, 4096, 4096}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServer(t, tt.cfg, tt.peer)
			if send, recv := c.Inline(); send != tt.inlineSend || recv != tt.inlineRecv {
				t.Errorf("send %d, receive %d, want %d, %d", send, recv, tt.inlineSend,
					tt.inlineRecv)
			}
			// The private data sent is the expected one.
			if diff := cmp.Diff(tt.says.bytes(), p.ep.Info().PrivateData); diff != "" {
				t.Errorf("private data (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConfigBounds configures the smallest and the largest values, and checks their effect and the
// defaults of other fields.
func TestConfigBounds(t *testing.T) {
	small := rpcrdma.Config{
		Credits: 1, MinChunk: 1, SegmentSize: 1024, MaxMessage: 64 << 10, ConnMemory: 128 << 10, ServerMemory: 128 << 10,
	}
	large := rpcrdma.Config{SegmentSize: 1 << 30, MaxMessage: 1 << 30}
	for _, tt := range []struct {
		name       string
		cfg        rpcrdma.Config
		credits    uint32
		segments   []int // of a read chunk of 3001 bytes
		bytesMove  bool  // by its own chunks
		maxMessage int
	}{
		{"smallest", small, 1, []int{1024, 1024, 953}, true, rpcrdma.MaxInline},
		{"largest", large, 64, []int{3001}, false, 1 << 30},
		{"defaults", rpcrdma.Config{}, 64, []int{3001}, false, 4 << 20},
		{"room for the default on a connection", rpcrdma.Config{ConnMemory: 8 << 20}, 64, []int{3001}, false, 4 << 20},
		{"less on a connection", rpcrdma.Config{ConnMemory: 8<<20 - 8}, 64, []int{3001}, false, 4<<20 - 4},
		{"the least on a connection", rpcrdma.Config{ConnMemory: 128 << 10}, 64, []int{3001}, false, 64 << 10},
		{"more on a connection", rpcrdma.Config{ConnMemory: 1 << 30}, 64, []int{3001}, false, 4 << 20},
		{"the least on a server", rpcrdma.Config{ServerMemory: 128 << 10}, 64, []int{3001}, false, 64 << 10},
		{"both", rpcrdma.Config{ConnMemory: 1 << 20, ServerMemory: 1 << 20}, 64, []int{3001}, false, 512 << 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServer(t, tt.cfg, privateData{})
			s := start(t.Context(), c, &items{data: [][]byte{pattern(1, 3001)}}, nil)
			h, _ := p.next()
			var segments []int
			for _, r := range h.Reads {
				segments = append(segments, int(r.Length))
			}
			if diff := cmp.Diff(tt.segments, segments); diff != "" || h.Credits != tt.credits {
				t.Errorf("%d credits asked for, want %d; segments (-want +got):\n%s", h.Credits, tt.credits, diff)
			}
			p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
			if err := wait(t, s.err); err != nil {
				t.Error(err)
			}
			// Data of one byte or more goes by its own chunk, or from 1024 bytes on.
			s = start(t.Context(), c, &items{data: append(slices.Repeat([][]byte{make([]byte, 100)}, 20), nil)}, nil)
			h, _ = p.next()
			if own := h.Type == rpcrdma.TypeMsg && len(h.Reads) > 1; own != tt.bytesMove || slices.ContainsFunc(h.Reads, func(r chunks.ReadSegment) bool { return r.Length == 0 }) {
				t.Errorf("20 items of 100 bytes: %v with reads %v", h.Type, h.Reads)
			}
			p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
			if err := wait(t, s.err); err != nil {
				t.Error(err)
			}
			err := client(c).Do(t.Context(), &oncrpc.Request{Procedure: procNull, MaxReply: tt.maxMessage + 1})
			var tooLong *oncrpc.ReplyTooLongError
			want := oncrpc.ReplyTooLongError{Len: tt.maxMessage + 28, Max: tt.maxMessage,
				NotSent: true}
			if !errors.As(err, &tooLong) || *tooLong != want {
				t.Errorf("a reply of one byte too much: %v", err)
			}

			// The largest call and the largest reply fit in the memory; otherwise the call would
			// wait for ever.
			r := newRig(t, tt.cfg)
			peer := r.raw(inline4k)
			n := uint32(tt.maxMessage)
			h = header(1, rpcrdma.TypeMsg)
			h.Credits = 100
			h.Reads = []chunks.ReadSegment{{Position: 52, Segment: chunks.Segment{Handle: 1, Length: n - 56}}}
			h.SetReply([]chunks.Segment{{Handle: 1, Length: n}})
			peer.send(h, callBytes(1, procBlock, nil), be32(1, 0xfeedbeef, n-56, 9))
			wait(t, r.program.entered)
		})
	}
}
