package rpcrdma_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// settings are Settings of two sizes, both for calls and for replies, and two alignments.
func settings(send, recv, reads, align, peerAlign int) rpcrdma.Settings {
	return rpcrdma.Settings{MaxSend: send, MaxRecv: recv, MaxReplySend: send, MaxCallRecv: recv,
		Reads: reads, PeerReads: 16, Align: align, PeerAlign: peerAlign}
}

// TestInitialSettings checks the Settings before any were agreed on (docs/readings.md, 10; draft
// section 6.1).
func TestInitialSettings(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  rpcrdma.Config
		peer privateData
		want rpcrdma.Settings
	}{
		{"both say what they can", rpcrdma.Config{InlineSend: 8192},
			privateData{Send: 16384, Recv: 5120}, settings(5120, 4096, 16, 0, 0)},
		{"the peer says nothing", rpcrdma.Config{InlineSend: 8192}, privateData{},
			settings(1024, 1024, 16, 0, 0)},
		{"this side ignores it", rpcrdma.Config{InlineSend: 8192, NoPrivateData: true}, inline4k,
			settings(1024, 1024, 16, 0, 0)},
		{"alignments", rpcrdma.Config{Dialect: rpcrdma.Draft, Align: 1024, PeerAlign: 256},
			inline4k, settings(4096, 4096, 16, 1024, 256)},
		{"alignments that RFC 8166 does not look at", rpcrdma.Config{Align: 5, PeerAlign: 256},
			inline4k, settings(4096, 4096, 16, 0, 0)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServer(t, tt.cfg, tt.peer)
			if diff := cmp.Diff(tt.want, c.Settings()); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if said := p.ep.Info().PrivateData; (len(said) == 0) != tt.cfg.NoPrivateData {
				t.Errorf("private data % x", said)
			}
		})
	}
}

// TestAgree checks that the peer's values are clamped, and that this side's own values stay.
func TestAgree(t *testing.T) {
	const huge = 1 << 30
	aligned := func(peerAlign int) rpcrdma.Settings { return settings(4096, 4096, 16, 512, peerAlign) }
	for _, tt := range []struct {
		name     string
		dialect  rpcrdma.Dialect
		in, want rpcrdma.Settings
	}{
		{"as it is", rpcrdma.Draft, settings(2000, 3000, 5, 512, 128), settings(2000, 3000, 5, 512, 128)},
		{"nothing", rpcrdma.Draft, rpcrdma.Settings{}, settings(1024, 1024, 0, 512, 0)},
		{"negative", rpcrdma.Draft, settings(-1, -1, -1, -1, -64), settings(1024, 1024, 0, 512, 0)},
		{"too much", rpcrdma.Draft, settings(huge, huge, huge, huge, huge),
			settings(65536, 4096, 16, 512, 0)},
		{"smallest alignment", rpcrdma.Draft, aligned(8), aligned(8)},
		{"nothing to pad", rpcrdma.Draft, aligned(4), aligned(0)},
		{"largest alignment", rpcrdma.Draft, aligned(32768), aligned(32768)},
		{"alignment too large", rpcrdma.Draft, aligned(65536), aligned(0)},
		{"no power of two", rpcrdma.Draft, aligned(100), aligned(0)},
		{"RFC 8166", rpcrdma.RFC8166, settings(4096, 4096, 5, 512, 128), settings(4096, 4096, 5, 0, 0)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := rawServer(t, rpcrdma.Config{Dialect: tt.dialect, Align: 512}, inline4k)
			c.UpdateSettings(func(s *rpcrdma.Settings) {
				*s = tt.in
				s.PeerReads = 3 // stays 16
			})
			if diff := cmp.Diff(tt.want, c.Settings()); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if send, recv := c.Inline(); send != tt.want.MaxSend || recv != tt.want.MaxRecv {
				t.Errorf("Inline() = %d, %d, want %d, %d", send, recv, tt.want.MaxSend, tt.want.MaxRecv)
			}
		})
	}
}

// TestAgreeTogether updates settings concurrently. Each update sees the changes of earlier ones,
// and nothing is lost.
func TestAgreeTogether(t *testing.T) {
	c, _ := rawServer(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, inline4k)
	for send := 2000; send < 2010; send++ {
		other := make(chan int, 1)
		c.UpdateSettings(func(s *rpcrdma.Settings) {
			go c.UpdateSettings(func(s *rpcrdma.Settings) {
				s.MaxReplySend = s.MaxSend
				other <- s.MaxSend
			})
			for n := 0; n < 1000 && len(other) == 0; n++ {
				runtime.Gosched() // to the other, if it does not wait
			}
			s.MaxSend = send
		})
		if got := wait(t, other); got != send {
			t.Fatalf("the other found %d, want %d", got, send)
		}
		c.UpdateSettings(func(s *rpcrdma.Settings) { // runs after it
			if s.MaxSend != send || s.MaxReplySend != send {
				t.Fatalf("%d and %d are in force, want %d", s.MaxSend, s.MaxReplySend, send)
			}
		})
	}
}

// TestAgreeTakesEffect: calls planned after an update use the new settings for calls, and replies
// those for replies.
func TestAgreeTakesEffect(t *testing.T) {
	const beyond = 2048 // the padded data begins here
	c, server := rawServer(t, rpcrdma.Config{Dialect: rpcrdma.Draft, NoReplyChunks: true}, inline4k)
	rig := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft})
	p := rig.raw(inline4k)
	p.alive()
	conn := wait(t, rig.program.conns)
	for xid, tt := range []struct {
		send, align, size int // bytes of data
		want              rpcrdma.Type
		reads             bool
	}{
		{4096, 0, 6000, rpcrdma.TypeMsg, true},
		{8192, 0, 6000, rpcrdma.TypeMsg, false},
		{1024, 0, 1500, rpcrdma.TypeMsg, true},
		{4096, 512, 1500, rpcrdma.TypeMsgP, false},
		{2048, 512, 1900, rpcrdma.TypeMsg, false}, // it does not fit with its padding
		{4096, beyond, 4096 - beyond - 4, rpcrdma.TypeMsgP, false},
		{4096, beyond, 4096 - beyond - 3, rpcrdma.TypeMsg, false},
	} {
		check := func(what string, h *rpcrdma.Header, body []byte) {
			t.Helper()
			n := h.Len() + len(body)
			if h.Type != tt.want || (len(h.Reads) > 0) != tt.reads || n > tt.send ||
				h.Type == rpcrdma.TypeMsgP && int(h.Align) != tt.align {
				t.Errorf("%+v: the %s is %+v, %d bytes long", tt, what, h, n)
			}
		}
		const other = 1024 + 512 // in the other direction
		c.UpdateSettings(func(s *rpcrdma.Settings) {
			s.MaxSend, s.MaxReplySend, s.PeerAlign = tt.send, other, tt.align
		})
		s := start(t.Context(), c, &items{data: [][]byte{make([]byte, tt.size)}}, nil)
		h, body := server.next()
		check("call", h, body)
		server.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
		if err := wait(t, s.err); err != nil {
			t.Error(err)
		}
		conn.UpdateSettings(func(s *rpcrdma.Settings) {
			s.MaxSend, s.MaxReplySend, s.PeerAlign = other, tt.send, tt.align
		})
		args := &source{1, uint32(tt.size)}
		p.send(header(uint32(xid), rpcrdma.TypeMsg), callBytes(uint32(xid), procSource, args))
		h, body = p.next()
		check("reply", h, body)
		if tt.reads {
			p.done(uint32(xid))
		}
	}
}

// TestBeyondLimits: Dial fails if the provider cannot carry what is configured.
func TestBeyondLimits(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	aligned := rpcrdma.Config{Dialect: rpcrdma.Draft, Align: 512}
	for _, tt := range []struct {
		name   string
		limits transporttest.Limits
		cfg    rpcrdma.Config
		want   error
	}{
		{"a Send too short for InlineSend", transporttest.Limits{MaxMessage: 4095}, rpcrdma.Config{},
			rpcrdma.ErrProviderLimits},
		{"a Send long enough", transporttest.Limits{MaxMessage: 4096}, rpcrdma.Config{}, nil},
		{"receives of one buffer, with Align", transporttest.Limits{MaxRecvSGE: 1}, aligned,
			rpcrdma.ErrProviderLimits},
		{"receives of two buffers, with Align", transporttest.Limits{MaxRecvSGE: 2}, aligned, nil},
		{"receives of one buffer, without", transporttest.Limits{MaxRecvSGE: 1}, rpcrdma.Config{}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := r.tryDial(tt.cfg, func(ep transport.Endpoint) transport.Endpoint {
				return transporttest.Limit(ep.(transporttest.FullEndpoint), tt.limits)
			})
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

// TestPlannedAgain: a call that waits for a credit is planned again if the settings change
// meanwhile.
func TestPlannedAgain(t *testing.T) {
	r := newRig(t, rpcrdma.Config{Credits: 1})
	c := r.dial(rpcrdma.Config{})
	results := make(chan error, 2)
	call := func(proc uint32, args *items, reply oncrpc.Unmarshaler) {
		results <- client(c).Call(t.Context(), proc, args, reply)
	}
	go call(procBlock, &items{}, new(items))
	wait(t, r.program.entered)
	go call(procSink, &items{data: [][]byte{pattern(1, 2000)}}, nil)
	waitFor(t, func() bool { _, _, waiting := c.Credits(); return waiting == 1 })
	c.UpdateSettings(func(s *rpcrdma.Settings) { s.MaxSend = rpcrdma.DefaultInline })
	r.program.pass(t)
	for range 2 {
		if err := wait(t, results); err != nil {
			t.Error(err)
		}
	}
	if sent := c.Traffic().ReadChunkSent; sent != 2000 {
		t.Errorf("%d bytes went as read chunks, want 2000", sent)
	}
}
