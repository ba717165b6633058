package rpcrdma_test

import (
	"bytes"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestInitialSettings checks the Settings before any were agreed on (docs/readings.md, 10; draft
// section 6.1).
func TestInitialSettings(t *testing.T) {
	tests := []struct {
		name string
		cfg  rpcrdma.Config
		peer privateData
		want rpcrdma.Settings
	}{
		{"both say what they can", rpcrdma.Config{InlineSend: 8192}, privateData{Send: 16384, Recv: 5120}, rpcrdma.Settings{MaxSend: 5120, MaxRecv: 4096, Reads: 16, PeerReads: 16}},
		{"the peer says nothing", rpcrdma.Config{InlineSend: 8192}, privateData{}, rpcrdma.Settings{MaxSend: 1024, MaxRecv: 1024, Reads: 16, PeerReads: 16}},
		{"this side ignores it", rpcrdma.Config{InlineSend: 8192, NoPrivateData: true}, inline4k, rpcrdma.Settings{MaxSend: 1024, MaxRecv: 1024, Reads: 16, PeerReads: 16}},
		{"draft", rpcrdma.Config{Dialect: rpcrdma.Draft, Align: 1024, PeerAlign: 256}, inline4k, rpcrdma.Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16, PeerReads: 16, Align: 1024, PeerAlign: 256}},
		{"alignments of RFC 8166", rpcrdma.Config{Align: 1024, PeerAlign: 256}, inline4k, rpcrdma.Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16, PeerReads: 16}},
		{"alignments that RFC 8166 does not look at", rpcrdma.Config{Align: 5, PeerAlign: 96}, inline4k, rpcrdma.Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16, PeerReads: 16}},
		{"the smallest alignments", rpcrdma.Config{Dialect: rpcrdma.Draft, Align: 64, PeerAlign: 8}, inline4k, rpcrdma.Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16, PeerReads: 16, Align: 64, PeerAlign: 8}},
		{"the largest alignments", rpcrdma.Config{Dialect: rpcrdma.Draft, Align: 2048, InlineRecv: 4096, PeerAlign: 32768}, inline4k, rpcrdma.Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16, PeerReads: 16, Align: 2048, PeerAlign: 32768}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServer(t, tt.cfg, tt.peer)
			tt.want.MaxReplySend, tt.want.MaxCallRecv = tt.want.MaxSend, tt.want.MaxRecv
			if diff := cmp.Diff(tt.want, c.Settings()); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if said := p.ep.Info().PrivateData; (len(said) == 0) != tt.cfg.NoPrivateData {
				t.Errorf("private data % x", said)
			}
		})
	}
}

// all4k returns s with all sizes at 4096.
func all4k(s rpcrdma.Settings) rpcrdma.Settings {
	s.MaxSend, s.MaxRecv, s.MaxReplySend, s.MaxCallRecv = 4096, 4096, 4096, 4096
	return s
}

// TestAgree checks that the peer's values are clamped, and that this side's own values stay.
func TestAgree(t *testing.T) {
	own := rpcrdma.Settings{PeerReads: 16, Align: 512}
	tests := []struct {
		name     string
		dialect  rpcrdma.Dialect
		in, want rpcrdma.Settings // PeerReads and Align are those of own
	}{
		{"as it is", rpcrdma.Draft, rpcrdma.Settings{MaxSend: 2000, MaxRecv: 3000, MaxReplySend: 2500, MaxCallRecv: 3500, Reads: 5, PeerAlign: 128},
			rpcrdma.Settings{MaxSend: 2000, MaxRecv: 3000, MaxReplySend: 2500, MaxCallRecv: 3500, Reads: 5, PeerAlign: 128}},
		{"nothing", rpcrdma.Draft, rpcrdma.Settings{}, rpcrdma.Settings{MaxSend: 1024, MaxRecv: 1024, MaxReplySend: 1024, MaxCallRecv: 1024}},
		{"negative", rpcrdma.Draft, rpcrdma.Settings{MaxSend: -1, MaxRecv: -1, MaxReplySend: -1, MaxCallRecv: -1, Reads: -1, PeerAlign: -64},
			rpcrdma.Settings{MaxSend: 1024, MaxRecv: 1024, MaxReplySend: 1024, MaxCallRecv: 1024}},
		{"too much", rpcrdma.Draft, rpcrdma.Settings{MaxSend: 1 << 30, MaxRecv: 1 << 30, MaxReplySend: 1 << 30, MaxCallRecv: 1 << 30, Reads: 1 << 30, PeerAlign: 1 << 30},
			rpcrdma.Settings{MaxSend: 65536, MaxRecv: 4096, MaxReplySend: 65536, MaxCallRecv: 4096, Reads: 16}},
		{"largest alignment", rpcrdma.Draft, all4k(rpcrdma.Settings{Reads: 16, PeerAlign: 32768}), all4k(rpcrdma.Settings{Reads: 16, PeerAlign: 32768})},
		{"alignment too large", rpcrdma.Draft, all4k(rpcrdma.Settings{Reads: 16, PeerAlign: 65536}), all4k(rpcrdma.Settings{Reads: 16})},
		{"no power of two", rpcrdma.Draft, all4k(rpcrdma.Settings{Reads: 16, PeerAlign: 100}), all4k(rpcrdma.Settings{Reads: 16})},
		{"nothing to pad", rpcrdma.Draft, all4k(rpcrdma.Settings{Reads: 16, PeerAlign: 4}), all4k(rpcrdma.Settings{Reads: 16})},
		{"this side's own", rpcrdma.Draft, all4k(rpcrdma.Settings{Reads: 16, PeerReads: 3, Align: 64}), all4k(rpcrdma.Settings{Reads: 16})},
		{"RFC 8166", rpcrdma.RFC8166, all4k(rpcrdma.Settings{Reads: 5, PeerAlign: 128}), all4k(rpcrdma.Settings{Reads: 5})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := rawServer(t, rpcrdma.Config{Dialect: tt.dialect, Align: own.Align}, inline4k)
			c.UpdateSettings(func(s *rpcrdma.Settings) { *s = tt.in })
			want := tt.want
			want.PeerReads = own.PeerReads
			if tt.dialect == rpcrdma.Draft {
				want.Align = own.Align
			}
			if diff := cmp.Diff(want, c.Settings()); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if send, recv := c.Inline(); send != want.MaxSend || recv != want.MaxRecv {
				t.Errorf("Inline() = %d, %d, want %d, %d", send, recv, want.MaxSend, want.MaxRecv)
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
	// In the end, the limit of RDMA Reads is that of the settings.
	const reads = 20
	g := newBothWays(t, rpcrdma.Config{})
	g.limitReads(1)
	s, data := g.reply(reads)
	g.wantReads(1)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 500 {
				g.c.UpdateSettings(func(s *rpcrdma.Settings) { s.Reads = (i + n) % 17 })
			}
		})
	}
	hang.Wait(t, "the callers", &wg)
	want := max(1, g.c.Settings().Reads)
	g.held.release(t, 1)
	g.wantReads(want)
	g.held.release(t, reads-1)
	if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], data) {
		t.Errorf("the reply differs, or error %v", err)
	}
}

// TestAgreeTakesEffect checks that calls planned after an update use the new settings.
func TestAgreeTakesEffect(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{Dialect: rpcrdma.Draft, NoReplyChunks: true}, inline4k)
	call := func(size int) *rpcrdma.Header {
		t.Helper()
		s := start(t.Context(), c, &items{data: [][]byte{make([]byte, size)}}, nil)
		h, body := p.next()
		if n := h.Len() + len(body); n > c.Settings().MaxSend {
			t.Errorf("Send of %d bytes, %d agreed on", n, c.Settings().MaxSend)
		}
		p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
		if err := wait(t, s.err); err != nil {
			t.Fatal(err)
		}
		return h
	}
	if h := call(6000); len(h.Reads) != 1 {
		t.Errorf("6000 bytes to a peer that takes 4096: %d read segments", len(h.Reads))
	}
	c.UpdateSettings(func(s *rpcrdma.Settings) { s.MaxSend = 8192 })
	if h := call(6000); len(h.Reads) != 0 {
		t.Errorf("6000 bytes to a peer that takes 8192: %d read segments", len(h.Reads))
	}
	c.UpdateSettings(func(s *rpcrdma.Settings) { s.MaxSend = 1024 })
	if h := call(1500); len(h.Reads) != 1 {
		t.Errorf("1500 bytes to a peer that takes 1024: %d read segments", len(h.Reads))
	}
	c.UpdateSettings(func(s *rpcrdma.Settings) { s.MaxSend, s.PeerAlign = 4096, 512 })
	if h := call(1500); h.Type != rpcrdma.TypeMsgP || h.Align != 512 {
		t.Errorf("call sent as %v, aligned to %d", h.Type, h.Align)
	}
	c.UpdateSettings(func(s *rpcrdma.Settings) { s.MaxSend, s.MaxReplySend = 2048, 8192 })
	if h := call(1900); h.Type != rpcrdma.TypeMsg || len(h.Reads) != 0 {
		t.Errorf("call that does not fit with its padding sent as %v, with %d read segments",
			h.Type, len(h.Reads))
	}
	c.UpdateSettings(func(s *rpcrdma.Settings) { s.PeerAlign = 0 })
	if h := call(1500); h.Type != rpcrdma.TypeMsg {
		t.Errorf("call sent as %v", h.Type)
	}
}

// TestAgreeTakesEffectOnReplies: replies use the settings for replies, whatever those for calls
// are.
func TestAgreeTakesEffectOnReplies(t *testing.T) {
	r := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft})
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	for _, tt := range []struct {
		agree rpcrdma.Settings
		size  uint32
		want  rpcrdma.Type
		reads bool
	}{
		{rpcrdma.Settings{MaxSend: 4096, MaxReplySend: 2048, PeerAlign: 512}, 1500, rpcrdma.TypeMsgP, false},
		// 2216 bytes with padding.
		{rpcrdma.Settings{MaxSend: 4096, MaxReplySend: 2048, PeerAlign: 512}, 1700, rpcrdma.TypeMsg, false},
		{rpcrdma.Settings{MaxSend: 4096, MaxReplySend: 2048}, 3000, rpcrdma.TypeMsg, true},
		{rpcrdma.Settings{MaxSend: 1024, MaxReplySend: 8000}, 7000, rpcrdma.TypeMsg, false},
		{rpcrdma.Settings{MaxSend: 1024, MaxReplySend: 8000, PeerAlign: 512}, 7000, rpcrdma.TypeMsgP, false},
	} {
		conn.UpdateSettings(func(s *rpcrdma.Settings) {
			s.MaxSend, s.MaxReplySend, s.PeerAlign = tt.agree.MaxSend, tt.agree.MaxReplySend, tt.agree.PeerAlign
		})
		p.send(header(tt.size, rpcrdma.TypeMsg), callBytes(tt.size, procSource, &source{1, tt.size}))
		h, body := p.next()
		if n := h.Len() + len(body); h.Type != tt.want || (len(h.Reads) > 0) != tt.reads || n > tt.agree.MaxReplySend {
			t.Errorf("%+v: reply of %d bytes of data is %v, %d bytes long, with %d read segments",
				tt.agree, tt.size, h.Type, n, len(h.Reads))
		}
		if tt.reads {
			p.done(tt.size)
		}
	}
}

// TestAgreeMeanwhile: both ends change the settings all the time while they call each other. No
// call fails.
func TestAgreeMeanwhile(t *testing.T) {
	cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, InlineSend: 8192, InlineRecv: 8192,
		SegmentSize: 1024, Align: 512}
	r := newRig(t, cfg)
	c := r.dial(cfg)
	back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(newProgram().program())
	defer back.Close()
	c.Serve(back)
	if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
		t.Fatal(err)
	}
	ends := []*rpcrdma.Conn{c, wait(t, r.program.conns)}
	stop := make(chan struct{})
	var changes, calls sync.WaitGroup
	for _, end := range ends {
		changes.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				// The expected size is no smaller than the other end may send.
				end.UpdateSettings(func(s *rpcrdma.Settings) {
					s.MaxSend, s.MaxReplySend = 1024*(1+i%8), 1024*(1+(i+3)%8)
					s.Reads, s.PeerAlign = 1+i%17, []int{0, 128, 256, 512, 1024}[i%5]
				})
			}
		})
		for w := range 4 {
			calls.Go(func() {
				for i := range 15 {
					args := &items{data: [][]byte{pattern(uint64(i), i*111), pattern(uint64(w), 9000)}, tail: uint32(i)}
					if err := echo(end, args, i%2 == 0); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	hang.Wait(t, "the callers", &calls)
	close(stop)
	hang.Wait(t, "the changes", &changes)
}
