package rpcrdma

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// TestInitialSettings checks what is in force before anything is agreed on (docs/readings.md, 10; draft section 6.1).
func TestInitialSettings(t *testing.T) {
	tests := []struct {
		name string
		cfg  Config
		peer private
		want Settings
	}{
		{"both say what they can", Config{InlineSend: 8192}, private{Send: 16384, Recv: 5120}, Settings{MaxSend: 5120, MaxRecv: 4096, Reads: 16, PeerReads: 16}},
		{"the peer says nothing", Config{InlineSend: 8192}, private{}, Settings{MaxSend: 1024, MaxRecv: 1024, Reads: 16, PeerReads: 16}},
		{"this side ignores it", Config{InlineSend: 8192, NoPrivateData: true}, inline4k, Settings{MaxSend: 1024, MaxRecv: 1024, Reads: 16, PeerReads: 16}},
		{"draft", Config{Dialect: Draft, Align: 1024, PeerAlign: 256}, inline4k, Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16, PeerReads: 16, Align: 1024, PeerAlign: 256}},
		{"alignments of RFC 8166", Config{Align: 1024, PeerAlign: 256}, inline4k, Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16, PeerReads: 16}},
		{"alignments brought into range", Config{Dialect: Draft, Align: 100_000, PeerAlign: 4}, inline4k, Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16, PeerReads: 16, Align: 2048}},
		{"alignments too small, and no power of two", Config{Dialect: Draft, Align: 5, PeerAlign: 96}, inline4k, Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16, PeerReads: 16, Align: 64}},
	}
	for _, tt := range tests {
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

// TestAgree checks that what the peer names is brought into range, and that this side's own values stay.
func TestAgree(t *testing.T) {
	own := Settings{PeerReads: 16, Align: 512}
	tests := []struct {
		name     string
		dialect  Dialect
		in, want Settings // PeerReads and Align are own's
	}{
		{"as it is", Draft, Settings{MaxSend: 2000, MaxRecv: 3000, Reads: 5, PeerAlign: 128}, Settings{MaxSend: 2000, MaxRecv: 3000, Reads: 5, PeerAlign: 128}},
		{"nothing", Draft, Settings{}, Settings{MaxSend: 1024, MaxRecv: 1024}},
		{"negative", Draft, Settings{MaxSend: -1, MaxRecv: -1, Reads: -1, PeerAlign: -64}, Settings{MaxSend: 1024, MaxRecv: 1024}},
		{"too much", Draft, Settings{MaxSend: 1 << 30, MaxRecv: 1 << 30, Reads: 1 << 30, PeerAlign: 1 << 30}, Settings{MaxSend: 65536, MaxRecv: 4096, Reads: 16}},
		{"largest alignment", Draft, Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16, PeerAlign: 32768}, Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16, PeerAlign: 32768}},
		{"no power of two", Draft, Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16, PeerAlign: 100}, Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16}},
		{"this side's own", Draft, Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16, PeerReads: 3, Align: 64}, Settings{MaxSend: 4096, MaxRecv: 4096, Reads: 16}},
		{"RFC 8166", RFC8166, Settings{MaxSend: 8192, MaxRecv: 3000, Reads: 5, PeerAlign: 128}, Settings{MaxSend: 8192, MaxRecv: 3000, Reads: 5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := rawServer(t, Config{Dialect: tt.dialect, Align: own.Align}, inline4k)
			c.Agree(tt.in)
			want := tt.want
			want.PeerReads = own.PeerReads
			if tt.dialect == Draft {
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

// TestAgreeTakesEffect checks that calls laid out from then on keep to what was agreed on.
func TestAgreeTakesEffect(t *testing.T) {
	c, p := rawServer(t, Config{Dialect: Draft, NoReplyChunks: true}, inline4k)
	call := func(size int) *Header {
		t.Helper()
		s := start(t.Context(), c, &items{data: [][]byte{make([]byte, size)}}, nil)
		h, body := p.next()
		if n := h.Len() + len(body); n > c.Settings().MaxSend {
			t.Errorf("Send of %d bytes, %d agreed on", n, c.Settings().MaxSend)
		}
		p.send(header(h.XID, TypeMsg), replyHeader(h.XID), be32(0, 7))
		if err := wait(t, s.err); err != nil {
			t.Fatal(err)
		}
		return h
	}
	agree := func(change func(*Settings)) {
		s := c.Settings()
		change(&s)
		c.Agree(s)
	}
	if h := call(6000); len(h.Reads) != 1 {
		t.Errorf("6000 bytes to a peer that takes 4096: %d read segments", len(h.Reads))
	}
	agree(func(s *Settings) { s.MaxSend = 8192 })
	if h := call(6000); len(h.Reads) != 0 {
		t.Errorf("6000 bytes to a peer that takes 8192: %d read segments", len(h.Reads))
	}
	agree(func(s *Settings) { s.MaxSend = 1024 })
	if h := call(1500); len(h.Reads) != 1 {
		t.Errorf("1500 bytes to a peer that takes 1024: %d read segments", len(h.Reads))
	}
	agree(func(s *Settings) { s.MaxSend, s.PeerAlign = 4096, 512 })
	if h := call(1500); h.Type != TypeMsgP || h.Align != 512 {
		t.Errorf("call sent as %v, aligned to %d", h.Type, h.Align)
	}
	agree(func(s *Settings) { s.PeerAlign = 0 })
	if h := call(1500); h.Type != TypeMsg {
		t.Errorf("call sent as %v", h.Type)
	}
}

// expectProgram has a procedure that expects a number of bytes and returns the answer.
func expectProgram() oncrpc.Program {
	return oncrpc.Program{Number: testProgram, Version: 3, Procedures: []oncrpc.Procedure{
		1: {Name: "EXPECT", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			n := c.Conn.(*Conn).Expect(int(int32(c.Args.Uint32())))
			c.Results.Uint32(uint32(n))
			return nil
		}},
	}}
}

// word is one unsigned integer.
type word uint32

func (w word) MarshalXDR(e *xdr.Encoder) { e.Uint32(uint32(w)) }

// expect has the server expect n bytes, and returns its answer.
func (p *rawPeer) expect(n int) int {
	p.t.Helper()
	m := callBytes(70, 1, word(uint32(n)))
	binary.BigEndian.PutUint32(m[16:], 3)
	p.send(header(70, TypeMsg), m)
	_, body := p.next()
	return int(binary.BigEndian.Uint32(body[24:]))
}

// TestExpectInHandler has a server asked for larger receives. Where these have memory already, nothing is posted in the first call that is
// shorter, and so it gets them; later there is, and it does not. Promised ones get longer at any time. What a handler was promised can be sent, into every receive that is posted.
func TestExpectInHandler(t *testing.T) {
	for _, align := range []int{0, 512} {
		for _, tt := range []struct {
			name      string
			n, want   int
			after     int // another call ahead of it
			thenLarge int // asked for by the next call
			then      int // which gets
			shared    bool
		}{
			{"less than is posted", 1, 4096, 0, 4096, 4096, false},
			{"as much", 4096, 4096, 0, 5000, 4096, false},
			{"more", 8192, 8192, 0, 4096, 8192, false},
			{"as much as there may be", 65536, 65536, 0, 65536, 65536, false},
			{"more than there may be", 1 << 20, 65536, 0, 70_000, 65536, false},
			{"negative", -5, 4096, 0, -5, 4096, false},
			{"too late", 8192, 4096, 1, 8192, 4096, false},
			{"less than is promised", 1, 4096, 0, 4096, 4096, true},
			{"as much promised", 4096, 4096, 0, 5000, 5000, true},
			{"more promised", 8192, 8192, 0, 4096, 8192, true},
			{"as much promised as there may be", 65536, 65536, 0, 65536, 65536, true},
			{"never too late", 8192, 8192, 1, 10000, 10000, true},
		} {
			t.Run(tt.name, func(t *testing.T) {
				r := newRigOn(t, Config{Dialect: Draft, Align: align, Credits: 4}, loopback.Config{}, func(l transport.Listener) transport.Listener {
					if tt.shared {
						return l
					}
					return noReceivesListener{l, new(atomic.Bool)} // which has no abilities
				})
				r.server.Handle(expectProgram())
				p := r.raw(inline4k)
				if tt.after > 0 {
					p.alive()
				}
				if got := p.expect(tt.n); got != tt.want {
					t.Fatalf("expected %d of %d asked for, want %d", got, tt.n, tt.want)
				}
				for xid := range uint32(12) {
					h := header(xid, TypeMsg)
					m := callMessage(xid, procSink, &items{data: [][]byte{make([]byte, (tt.want-h.Len()-56)/4*4)}})
					p.send(h, m.AppendTo(nil))
					if got, _ := p.next(); got.Type != TypeMsg {
						t.Fatalf("Send of %d bytes: %v", tt.want, got.Type)
					}
				}
				if got := p.expect(tt.thenLarge); got != tt.then {
					t.Errorf("expected %d of %d asked for later, want %d", got, tt.thenLarge, tt.then)
				}
			})
		}
	}
}

// TestExpectAsClient has a client ask for larger receives ahead of a call.
func TestExpectAsClient(t *testing.T) {
	for _, busy := range []bool{false, true} {
		c, p := rawServer(t, Config{Dialect: Draft}, inline4k)
		want := 8192
		var first *started
		var h *Header
		if busy { // its reply finds a longer one
			first = start(t.Context(), c, &items{}, nil)
			h, _ = p.next()
		}
		waitFor(t, func() bool { // the one for a call of the peer's
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.awaited() > 0
		})
		if got := c.Expect(8192); got != want {
			t.Errorf("busy %v: expected %d of 8192 asked for, want %d", busy, got, want)
		}
		if busy {
			p.send(header(h.XID, TypeMsg), replyHeader(h.XID), be32(0, 7))
			if err := wait(t, first.err); err != nil {
				t.Error(err)
			}
			continue
		}
		goesOn(t, c, p) // whose reply takes the receive that is there
		for range 5 {
			s := start(t.Context(), c, &items{}, nil)
			h, _ := p.next()
			const n = 8192 - 28 - 24 - 16
			m := echoReply(h.XID, pattern(1, n))
			p.send(header(h.XID, TypeMsg), m)
			if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], pattern(1, n)) {
				t.Errorf("reply of 8192 bytes differs, or error %v", err)
			}
		}
	}
}

// TestAgreeMeanwhile has both ends agree on other values all the time while they call each other: no call fails, whatever holds when it is laid out.
func TestAgreeMeanwhile(t *testing.T) {
	cfg := Config{Dialect: Draft, InlineSend: 8192, InlineRecv: 8192, SegmentSize: 1024, Align: 512}
	r := newRig(t, cfg)
	c := r.dial(cfg)
	back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(newProgram().program())
	defer back.Close()
	c.Serve(back)
	if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
		t.Fatal(err)
	}
	ends := []*Conn{c, wait(t, r.program.conns)}
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
				s := end.Settings()
				// What is expected is not less than the other end may send.
				s.MaxSend, s.Reads, s.PeerAlign = 1024*(1+i%8), 1+i%17, []int{0, 128, 256, 512, 1024}[i%5]
				end.Agree(s)
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
	calls.Wait()
	close(stop)
	changes.Wait()
}
