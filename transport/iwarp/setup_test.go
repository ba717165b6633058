package iwarp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// TestNoByteBeforeItsTime has a listening end with much to say that says nothing before the first FPDU has come (RFC 5044 section
// 7.1.2), and then all of it, in order.
func TestNoByteBeforeItsTime(t *testing.T) {
	for _, first := range []struct {
		name    string
		p2p     bool
		segment []byte
		fpdus   int // that answer it, in front of everything else
	}{
		{"Write", false, segment(toSTag(rdmap.OpWrite, 1, 0), ""), 0},
		{"RTR by Write", true, segment(toSTag(rdmap.OpWrite, 1, 0), ""), 0},
		{"RTR by Send", true, segment(onQueue(rdmap.OpSend, 1), ""), 0},
	} {
		t.Run(first.name, func(t *testing.T) {
			p, l := newRig(t, false, Config{CRC: CRCOn, PeerToPeer: first.p2p}).connect()
			write := func(data string) *transport.WorkRequest {
				return &transport.WorkRequest{Op: transport.OpWrite, Remote: transport.Remote{STag: 3, Offset: 4}, Local: slices([]byte(data)), Flags: transport.Signaled}
			}
			l.post(write("before Start"))
			l.send("Send before Start")
			l.start()
			l.send("Send after Start")
			l.post(write("after Start"))
			l.post(&transport.WorkRequest{Op: transport.OpRead, Remote: transport.Remote{STag: 3, Offset: 4}, Local: slices(make([]byte, 8))})
			l.Poll()

			// Half an FPDU is none.
			fpdu := p.frame(first.segment)
			p.write(fpdu[:len(fpdu)-1])
			l.Poll()
			// Whether something has come cannot be told from the fact that nothing is there yet. What is sent early is in front of what the
			// following makes our end say, though: an answer to the last byte that the first FPDU needs.
			p.wantSilence()
			p.write(fpdu[len(fpdu)-1:])
			p.want("first", segment(toSTag(rdmap.OpWrite, 3, 4), "before Start"))
			p.wantMessage("Send before Start")
			p.wantMessage("Send after Start")
			p.want("fourth", segment(toSTag(rdmap.OpWrite, 3, 4), "after Start"))
			p.wantReadRequest(1)
			for range 2 {
				if err := await(t, "completion", l.completions); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// wantSilence expects that nothing is there to read. It gives our end a little time to do something wrong; no test fails for want of it.
func (p *peer) wantSilence() {
	p.t.Helper()
	p.conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	var b [64]byte
	if n, err := p.conn.Read(b[:]); n > 0 || !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
		p.t.Errorf("peer: read %d bytes and %v, want silence: % x", n, err, b[:n])
	}
	p.conn.SetReadDeadline(time.Now().Add(patience))
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// An endpoint that has heard nothing says nothing when it ends, either.
func TestCloseBeforeFirst(t *testing.T) {
	p, l := newRig(t, false, Config{CRC: CRCOff}).connect()
	l.start()
	l.send("never sent")
	l.Close()
	p.wantFIN()
	if err := l.ended(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got error %v, want %v", err, net.ErrClosed)
	}
}

// TestRTRSent has our dialer send each kind of RTR (RFC 6581 section 9.2): it is the first FPDU, whatever was posted, and a Send takes a
// message number.
func TestRTRSent(t *testing.T) {
	for _, tt := range []struct {
		name string
		rtr  mpa.RTR
		want func(p *peer) // the first FPDU
		next uint32        // MSN of the first Send of the upper layer
	}{
		{"Send", mpa.RTRSend, func(p *peer) { p.want("RTR", segment(onQueue(rdmap.OpSend, 1), "")) }, 2},
		{"Write", mpa.RTRWrite, func(p *peer) { p.want("RTR", segment(toSTag(rdmap.OpWrite, 1, 0), "")) }, 1},
		{"Read", mpa.RTRRead, func(p *peer) {
			r := p.wantReadRequest(1)
			if r.Len != 0 || r.SourceSTag == 0 {
				p.t.Errorf("RTR by Read: got %+v, want one of length 0 with an STag that is not 0", r)
			}
			p.send(segment(toSTag(rdmap.OpReadResponse, r.SinkSTag, r.SinkOffset), ""))
		}, 1},
	} {
		for _, crc := range []CRC{CRCOff, CRCOn} {
			t.Run(describe(true, crc)+", "+tt.name, func(t *testing.T) {
				r := newRig(t, true, Config{CRC: crc, PeerToPeer: true, RTR: tt.rtr})
				p, l := r.connectAs(peerToPeer)
				tt.want(p)
				l.start()
				l.send("first")
				p.want("Send", segment(onQueue(rdmap.OpSend, tt.next), "first"))
				p.takes = tt.next
				alive(p, l)
				// Reads are numbered behind that of the RTR.
				msn := uint32(1)
				if tt.rtr == mpa.RTRRead {
					msn = 2
				}
				sink := make([]byte, 4)
				l.post(&transport.WorkRequest{Op: transport.OpRead, Flags: transport.Signaled, Local: slices(sink), Remote: transport.Remote{STag: 1}})
				req := p.wantReadRequest(msn)
				p.send(segment(toSTag(rdmap.OpReadResponse, req.SinkSTag, req.SinkOffset), "data"))
				if err := await(t, "completion", l.completions); err != nil || string(sink) != "data" {
					t.Errorf("read %q, %v", sink, err)
				}
				if len(l.completions) > 0 || len(l.messages) > 0 {
					t.Error("the RTR has led to a completion or a message")
				}
			})
		}
	}
}

// Reads of the upper layer wait for the response to an RTR by Read if the ORD is 1, and come about if it is 0 there, too.
func TestRTRReadCounts(t *testing.T) {
	p, l := newRig(t, true, Config{CRC: CRCOff, PeerToPeer: true, RTR: mpa.RTRRead, ORD: 1}).connectAs(peerToPeer)
	rtr := p.wantReadRequest(1)
	l.start()
	l.post(&transport.WorkRequest{Op: transport.OpRead, Local: slices(make([]byte, 4)), Remote: transport.Remote{STag: 1}})
	p.wantSilence()
	p.send(segment(toSTag(rdmap.OpReadResponse, rtr.SinkSTag, rtr.SinkOffset), ""))
	p.wantReadRequest(2)
}

// TestRTRTaken has our listener take each kind of RTR: no receive is used up, nothing completes, nothing is delivered.
func TestRTRTaken(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rtr    []byte
		answer func(p *peer)
		sends  uint32 // of the peer so far
	}{
		{"Send", segment(onQueue(rdmap.OpSend, 1), ""), nil, 1},
		{"Write", segment(toSTag(rdmap.OpWrite, 0, 0), ""), nil, 0},
		{"Read", segment(onQueue(rdmap.OpReadRequest, 1), readRequest(0, 0, 0)), func(p *peer) {
			p.want("response", segment(toSTag(rdmap.OpReadResponse, 0x51417a6, 0x1000), ""))
		}, 0},
	} {
		for _, crc := range []CRC{CRCOff, CRCOn} {
			t.Run(describe(false, crc)+", "+tt.name, func(t *testing.T) {
				p, l := newRig(t, false, Config{CRC: crc, PeerToPeer: true}).connectAs(peerToPeer)
				l.receives(1)
				l.start()
				l.send("posted before")
				p.send(tt.rtr)
				p.sends = tt.sends
				// What comes first, the response or the Send, is our end's to choose.
				if tt.answer != nil {
					tt.answer(p)
				}
				p.wantMessage("posted before")
				p.sendMessage("takes the receive")
				l.wantMessage("takes the receive")
				alive(p, l)
				if len(l.completions) > 0 || len(l.messages) > 0 {
					t.Error("the RTR has led to a completion or a message")
				}
			})
		}
	}
}

// An RTR by Send is taken without a receive, and the next Send is one like any other: it needs one.
func TestRTRSendTwice(t *testing.T) {
	p, l := newRig(t, false, Config{CRC: CRCOff, PeerToPeer: true}).connectAs(peerToPeer)
	l.start()
	second := segment(onQueue(rdmap.OpSend, 2), "")
	p.send(segment(onQueue(rdmap.OpSend, 1), ""), second)
	p.wantTerminate(terminateBytes(rdmap.UntaggedNoBuffer, second, true, false))
	wantTerminated(t, l.ended(), rdmap.UntaggedNoBuffer, false, transport.ErrNoReceive)
}

// TestRTRMissing has an initiator of a peer-to-peer connection that begins with something else than the RTR agreed on.
func TestRTRMissing(t *testing.T) {
	all := mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead
	for _, tt := range []struct {
		name    string
		rtr     mpa.RTR
		segment []byte
	}{
		{"Send of something", all, segment(onQueue(rdmap.OpSend, 1), "x")},
		{"Send without its end", all, segment(with(onQueue(rdmap.OpSend, 1), more), "")},
		{"Send at an offset", all, segment(with(onQueue(rdmap.OpSend, 1), offset(1)), "")},
		{"Send with Solicited Event", all, segment(onQueue(rdmap.OpSendSE, 1), "")},
		{"Send with Invalidate", all, segment(onQueue(rdmap.OpSendInvalidate, 1), "")},
		{"Write of something", all, segment(toSTag(rdmap.OpWrite, 1, 0), "x")},
		{"Write without its end", all, segment(with(toSTag(rdmap.OpWrite, 1, 0), more), "")},
		{"Read of something", all, segment(onQueue(rdmap.OpReadRequest, 1), readRequest(1, 0, 1))},
		{"Read Response", all, segment(toSTag(rdmap.OpReadResponse, 1, 0), "")},
		{"reserved opcode", all, segment(onQueue(9, 1), "")},
		{"Send where Write is agreed on", mpa.RTRWrite, segment(onQueue(rdmap.OpSend, 1), "")},
		{"Write where Send is agreed on", mpa.RTRSend, segment(toSTag(rdmap.OpWrite, 1, 0), "")},
		{"Read where Write is agreed on", mpa.RTRWrite, segment(onQueue(rdmap.OpReadRequest, 1), readRequest(1, 0, 0))},
		{"Write where Read is agreed on", mpa.RTRRead, segment(toSTag(rdmap.OpWrite, 1, 0), "")},
	} {
		for _, crc := range []CRC{CRCOff, CRCOn} {
			t.Run(describe(false, crc)+", "+tt.name, func(t *testing.T) {
				r := newRig(t, false, Config{CRC: crc, PeerToPeer: true, RTR: tt.rtr})
				p, l := r.connectAs(peerToPeer)
				l.receives(1)
				l.start()
				l.send("never sent")
				p.send(tt.segment)
				p.wantTerminate([]byte{0x20, 0x07, 0, 0})
				wantTerminated(t, l.ended(), rdmap.MPARTR, false, nil)
				if len(l.messages) > 0 {
					t.Error("received a message")
				}
				r.wantCounters(map[string]int{"Connections": 1, "TerminatesSent": 1})
				r.log.want(t, 1, "no matching RTR")
			})
		}
	}
}

// TestFallback has a peer that closes on an enhanced request (RFC 6581 section 10).
func TestFallback(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Config)
		again  bool
	}{
		{"automatic", func(*Config) {}, true},
		{"enhanced required", func(c *Config) { c.Enhanced = mpa.EnhancedRequired }, false},
		{"peer-to-peer", func(c *Config) { c.PeerToPeer = true }, false},
		{"manual reads", func(c *Config) { c.ManualReads = true }, false},
	} {
		for _, how := range []struct {
			name string
			end  func(p *peer)
		}{
			{"closed", func(p *peer) { p.conn.Close() }},
			{"reset", func(p *peer) { p.reset() }},
		} {
			t.Run(tt.name+", "+how.name, func(t *testing.T) {
				cfg := Config{CRC: CRCOff, Logger: quiet}
				tt.change(&cfg)
				r := newRig(t, true, cfg)
				dial := r.dial(t.Context())
				p := acceptPeer(t, r.peers)
				if got := p.readStartup(); got[16] != 0x10 || got[17] != 2 {
					t.Errorf("request with bits %#02x of revision %d, want an enhanced one", got[16], got[17])
				}
				how.end(p)
				if !tt.again {
					d := await(t, "Dial", dial)
					if !errors.Is(d.err, mpa.ErrUnenhanced) || d.ep != nil {
						t.Errorf("Dial: got %v, %v, want %v", d.ep, d.err, mpa.ErrUnenhanced)
					}
					r.wantCounters(map[string]int{"HandshakeFailures": 1})
					r.wantNoDial()
					return
				}
				p = acceptPeer(t, r.peers)
				p.wantStartup(requestFrame(0, 1, ""))
				p.write(replyFrame(0, 1, "hello"))
				d := await(t, "Dial", dial)
				if d.err != nil {
					t.Fatal(d.err)
				}
				want := mpa.Setup{
					Initiator: true, Revision: 1, IRD: DefaultReads, ORD: mpa.UnenhancedORD, PeerIRD: -1, PeerORD: -1,
					PrivateData: []byte("hello"),
				}
				got, ok := SetupOf(d.ep)
				if diff := cmp.Diff(want, got); diff != "" || !ok {
					t.Errorf("setup (-want +got):\n%s", diff)
				}
				alive(p, newLocal(t, d.ep).start())
				r.wantNoDial()
			})
		}
	}
}

// TestFallbackOnce has a peer that closes on the second request, too.
func TestFallbackOnce(t *testing.T) {
	r := newRig(t, true, Config{CRC: CRCOff})
	dial := r.dial(t.Context())
	for range 2 {
		p := acceptPeer(t, r.peers)
		p.readStartup()
		p.conn.Close()
	}
	if d := await(t, "Dial", dial); !errors.Is(d.err, io.EOF) || errors.Is(d.err, mpa.ErrUnenhanced) {
		t.Errorf("Dial: got error %v, want one that wraps %v, of the unenhanced request", d.err, io.EOF)
	}
	r.wantNoDial()
}

// wantNoDial checks that no connection waits to be accepted. Dial has returned.
func (r *rig) wantNoDial() {
	r.t.Helper()
	r.peers.SetDeadline(time.Now().Add(time.Millisecond))
	if c, err := r.peers.Accept(); err == nil {
		c.Close()
		r.t.Error("there was another dial")
	}
}

// TestRejected has a peer that refuses, and says why.
func TestRejected(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cfg   Config
		reply []byte
		want  mpa.RejectError
	}{
		{"enhanced", Config{}, replyFrame(0x30, 2, "\x00\x08\x00\x20go away"),
			mpa.RejectError{PrivateData: []byte("go away"), Enhanced: true, PeerIRD: 8, PeerORD: 32}},
		{"unenhanced", Config{Enhanced: mpa.EnhancedNever}, replyFrame(0x20, 1, "go away"),
			mpa.RejectError{PrivateData: []byte("go away"), PeerIRD: -1, PeerORD: -1}},
		{"without a word", Config{Enhanced: mpa.EnhancedNever}, replyFrame(0x20, 1, ""), mpa.RejectError{PeerIRD: -1, PeerORD: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.CRC = CRCOff
			r := newRig(t, true, tt.cfg)
			dial := r.dial(t.Context())
			p := acceptPeer(t, r.peers)
			p.readStartup()
			p.write(tt.reply)
			d := await(t, "Dial", dial)
			var (
				got     *mpa.RejectError
				general *transport.RejectError
				op      *transport.OpError
			)
			if !errors.As(d.err, &got) || !errors.As(d.err, &general) || !errors.As(d.err, &op) || d.ep != nil {
				t.Fatalf("Dial: got %v, %v, want a RejectError of both packages in an OpError", d.ep, d.err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("*mpa.RejectError (-want +got):\n%s", diff)
			}
			if !bytes.Equal(general.PrivateData, tt.want.PrivateData) {
				t.Errorf("*transport.RejectError with %q, want %q", general.PrivateData, tt.want.PrivateData)
			}
			r.wantCounters(map[string]int{"Rejected": 1})
			r.wantNoDial()
		})
	}
}

// TestTerminatedReplies has replies that accept, but that our dialer cannot live with: it says so (RFC 6581 sections 8 and 9).
func TestTerminatedReplies(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cfg   Config
		reply []byte
		code  rdmap.Code
		want  error
	}{
		{"private data without the enhanced data", Config{}, replyFrame(0x10, 2, "\x00\x10\x00"), rdmap.MPAStartup, mpa.ErrFrame},
		{"unenhanced reply", Config{Enhanced: mpa.EnhancedRequired}, replyFrame(0x00, 2, ""), rdmap.MPAStartup, mpa.ErrUnenhanced},
		{"another model", Config{}, replyFrame(0x10, 2, peerToPeer), rdmap.MPARTR, mpa.ErrModel},
		{"the other model", Config{PeerToPeer: true}, replyFrame(0x10, 2, clientServer), rdmap.MPARTR, mpa.ErrModel},
		{"ORD above our IRD", Config{}, replyFrame(0x10, 2, "\x00\x10\x00\x11"), rdmap.MPAIRD, mpa.ErrInsufficientIRD},
		{"no RTR", Config{PeerToPeer: true}, replyFrame(0x10, 2, "\x80\x10\x00\x10"), rdmap.MPARTR, mpa.ErrNoMatchingRTR},
		{"another RTR", Config{PeerToPeer: true, RTR: mpa.RTRWrite}, replyFrame(0x10, 2, "\xc0\x10\x40\x10"), rdmap.MPARTR, mpa.ErrNoMatchingRTR},
	} {
		for _, crc := range []CRC{CRCOff, CRCOn} {
			t.Run(describe(true, crc)+", "+tt.name, func(t *testing.T) {
				tt.cfg.CRC = crc
				r := newRig(t, true, tt.cfg)
				dial := r.dial(t.Context())
				p := acceptPeer(t, r.peers)
				p.crc = crc == CRCOn
				p.readStartup()
				p.write(tt.reply)
				// Dial does not wait for the peer.
				d := await(t, "Dial", dial)
				if !errors.Is(d.err, tt.want) || d.ep != nil {
					t.Errorf("Dial: got %v, %v, want %v", d.ep, d.err, tt.want)
				}
				p.wantTerminate([]byte{byte(tt.code >> 8), byte(tt.code), 0, 0})
				r.wantCounters(map[string]int{"HandshakeFailures": 1, "TerminatesSent": 1})
			})
		}
	}
}

// TestFallbackAfterReply has a peer that accepts an enhanced request with an unenhanced reply. It is told, and asked again.
func TestFallbackAfterReply(t *testing.T) {
	r := newRig(t, true, Config{CRC: CRCOff})
	dial := r.dial(t.Context())
	first := acceptPeer(t, r.peers)
	first.readStartup()
	first.write(replyFrame(0, 1, ""))
	second := acceptPeer(t, r.peers)
	second.wantStartup(requestFrame(0, 1, ""))
	second.write(replyFrame(0, 1, ""))
	d := await(t, "Dial", dial)
	if d.err != nil {
		t.Fatal(d.err)
	}
	first.wantTerminate([]byte{0x20, 0x04, 0, 0})
	alive(second, newLocal(t, d.ep).start())
}

// TestSetupOf has both sides tell what was agreed on, with the peer's own words.
func TestSetupOf(t *testing.T) {
	cfg := Config{CRC: CRCOff, IRD: 5, ORD: 7}
	t.Run("dialing", func(t *testing.T) {
		r := newRig(t, true, cfg)
		dial := r.dial(t.Context())
		p := acceptPeer(t, r.peers)
		p.wantStartup(requestFrame(0x10, 2, "\x00\x05\x00\x07"))
		p.write(replyFrame(0x50, 2, "\x00\x03\x00\x04hello"))
		d := await(t, "Dial", dial)
		if d.err != nil {
			t.Fatal(d.err)
		}
		defer d.ep.Close()
		wantSetup(t, d.ep, mpa.Setup{
			Initiator: true, Revision: 2, Enhanced: true, CRC: true, IRD: 5, ORD: 3, PeerIRD: 3, PeerORD: 4, PrivateData: []byte("hello"),
		})
	})
	t.Run("listening", func(t *testing.T) {
		r := newRig(t, false, cfg)
		p := dialPeer(t, r.listener.Addr().String())
		p.write(requestFrame(0x50, 2, "\xc0\x03\x80\x04hello"))
		req := r.request()
		m, ok := RequestOf(req)
		if !ok {
			t.Fatal("RequestOf: got false")
		}
		got := []any{m.Revision(), m.Enhanced(), m.CRC(), m.Markers(), m.PeerToPeer(), m.RTR(), m.PeerIRD(), m.PeerORD(), string(m.PrivateData())}
		want := []any{2, true, true, false, true, mpa.RTRSend | mpa.RTRWrite, 3, 4, "hello"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("RequestOf (-want +got):\n%s", diff)
		}
		if got := string(req.Info().PrivateData); got != "hello" {
			t.Errorf("private data %q, want %q", got, "hello")
		}
		ep, err := req.Accept(t.Context(), []byte("welcome"))
		if err != nil {
			t.Fatal(err)
		}
		defer ep.Close()
		p.wantStartup(replyFrame(0x50, 2, "\xc0\x05\x80\x03welcome"))
		wantSetup(t, ep, mpa.Setup{
			Revision: 2, Enhanced: true, CRC: true, IRD: 5, ORD: 3, PeerIRD: 3, PeerORD: 4, PeerToPeer: true,
			RTR: mpa.RTRSend | mpa.RTRWrite, PrivateData: []byte("hello"),
		})
	})
}

func wantSetup(t *testing.T, ep transport.Endpoint, want mpa.Setup) {
	t.Helper()
	got, ok := SetupOf(ep)
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("SetupOf (-want +got):\n%s", diff)
	}
	info := ep.Info()
	if info.IRD != want.IRD || info.ORD != want.ORD || !bytes.Equal(info.PrivateData, want.PrivateData) {
		t.Errorf("Info: got %+v, want what was agreed on", info)
	}
}

// TestOthersSetup hands SetupOf and RequestOf what is another provider's.
func TestOthersSetup(t *testing.T) {
	if got, ok := SetupOf(nil); ok {
		t.Errorf("SetupOf: got %+v", got)
	}
	if got, ok := RequestOf(nil); ok {
		t.Errorf("RequestOf: got %+v", got)
	}
}

// TestDialGivesUp ends a Dial at each stage at which it waits for the peer.
func TestDialGivesUp(t *testing.T) {
	type stage struct {
		name string
		play func(p *peer) // brings Dial there
	}
	stages := []stage{
		{"request not read", func(*peer) {}},
		{"no reply", func(p *peer) { p.readStartup() }},
		{"half a reply", func(p *peer) { p.readStartup(); p.write(replyFrame(0x10, 2, clientServer)[:19]) }},
		{"half the private data", func(p *peer) { p.readStartup(); p.write(replyFrame(0x10, 2, clientServer)[:22]) }},
	}
	for _, s := range stages {
		t.Run("cancelled, "+s.name, func(t *testing.T) {
			r := newRig(t, true, Config{CRC: CRCOff})
			ctx, cancel := context.WithCancel(t.Context())
			dial := r.dial(ctx)
			p := acceptPeer(t, r.peers)
			s.play(p)
			cancel()
			d := await(t, "Dial", dial)
			if !errors.Is(d.err, context.Canceled) || d.ep != nil {
				t.Errorf("Dial: got %v, %v, want %v", d.ep, d.err, context.Canceled)
			}
			r.wantNoDial()
		})
		t.Run("timeout, "+s.name, func(t *testing.T) {
			r := newRig(t, true, Config{CRC: CRCOff, HandshakeTimeout: 200 * time.Millisecond})
			dial := r.dial(t.Context())
			p := acceptPeer(t, r.peers)
			s.play(p)
			d := await(t, "Dial", dial)
			if !isTimeout(d.err) || d.ep != nil {
				t.Errorf("Dial: got %v, %v, want a timeout", d.ep, d.err)
			}
			r.wantCounters(map[string]int{"HandshakeFailures": 1})
			r.wantNoDial()
		})
		t.Run("deadline, "+s.name, func(t *testing.T) {
			r := newRig(t, true, Config{CRC: CRCOff})
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			dial := r.dial(ctx)
			p := acceptPeer(t, r.peers)
			s.play(p)
			d := await(t, "Dial", dial)
			if !errors.Is(d.err, context.DeadlineExceeded) || d.ep != nil {
				t.Errorf("Dial: got %v, %v, want %v", d.ep, d.err, context.DeadlineExceeded)
			}
			r.wantNoDial()
		})
	}
	t.Run("cancelled before", func(t *testing.T) {
		r := newRig(t, true, Config{CRC: CRCOff})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if d := await(t, "Dial", r.dial(ctx)); !errors.Is(d.err, context.Canceled) {
			t.Errorf("Dial: got error %v, want %v", d.err, context.Canceled)
		}
		r.wantNoDial()
	})
	// The context is for setting up the connection, and does not end it.
	t.Run("cancelled afterwards", func(t *testing.T) {
		r := newRig(t, true, Config{CRC: CRCOff})
		ctx, cancel := context.WithCancel(t.Context())
		dial := r.dial(ctx)
		p := acceptPeer(t, r.peers)
		p.readStartup()
		p.write(replyFrame(0x10, 2, clientServer))
		d := await(t, "Dial", dial)
		cancel()
		if d.err != nil {
			t.Fatal(d.err)
		}
		alive(p, newLocal(t, d.ep).start())
	})
}

// TestAcceptGivesUp has a listener whose caller does not wait any more.
func TestAcceptGivesUp(t *testing.T) {
	r := newRig(t, false, Config{CRC: CRCOff})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.listener.Accept(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Accept: got error %v, want %v", err, context.Canceled)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := r.listener.Accept(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Accept: got error %v, want %v", err, context.DeadlineExceeded)
	}
	p := dialPeer(t, r.listener.Addr().String())
	p.write(requestFrame(0x10, 2, clientServer))
	req := r.request()
	if _, err := req.Accept(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Request.Accept: got error %v, want %v", err, context.DeadlineExceeded)
	}
	p.wantFIN()
	p, l := r.connect()
	alive(p, l.start())
}

// TestAnsweredTwice answers a request again. The connection does not mind.
func TestAnsweredTwice(t *testing.T) {
	again := func(t *testing.T, req transport.Request) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, ctx := range []context.Context{ctx, t.Context()} {
			if ep, err := req.Accept(ctx, nil); !errors.Is(err, mpa.ErrAnswered) || ep != nil {
				t.Errorf("Accept: got %v, %v, want %v", ep, err, mpa.ErrAnswered)
			}
		}
		if err := req.Reject(nil); !errors.Is(err, mpa.ErrAnswered) {
			t.Errorf("Reject: got error %v, want %v", err, mpa.ErrAnswered)
		}
	}
	t.Run("accepted", func(t *testing.T) {
		// The deadline of an answer, had it any effect, would pass in the middle of an FPDU.
		r := newRig(t, false, Config{CRC: CRCOff, HandshakeTimeout: 300 * time.Millisecond})
		p := dialPeer(t, r.listener.Addr().String())
		p.write(requestFrame(0x10, 2, clientServer))
		req := r.request()
		ep, err := req.Accept(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		p.readStartup()
		l := newLocal(t, ep)
		fpdu := p.frame(segment(onQueue(rdmap.OpSend, 1), "unharmed"))
		p.write(fpdu[:10])
		l.receives(1)
		l.start()
		again(t, req)
		for range 20 { // passes the time
			p.wantSilence()
		}
		p.write(fpdu[10:])
		l.wantMessage("unharmed")
		p.sends++
		alive(p, l)
	})
	t.Run("rejected", func(t *testing.T) {
		r := newRig(t, false, Config{CRC: CRCOff})
		p := dialPeer(t, r.listener.Addr().String())
		p.write(requestFrame(0x10, 2, "\x00\x20\x00\x20"))
		req := r.request()
		if err := req.Reject([]byte("no")); err != nil {
			t.Fatal(err)
		}
		again(t, req)
		p.wantStartup(replyFrame(0x30, 2, "\x00\x10\x00\x10no"))
		p.wantFIN()
		r.wantCounters(map[string]int{"Rejected": 1})
	})
}

// TestPrivateDataLimits has more private data than fits. The request can still be answered then.
func TestPrivateDataLimits(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cfg     Config
		request []byte
		max     int
	}{
		{"enhanced", Config{}, requestFrame(0x10, 2, "\x00\x02\x00\x02"+strings.Repeat("p", 508)), 508},
		{"unenhanced", Config{Enhanced: mpa.EnhancedNever}, requestFrame(0, 1, strings.Repeat("p", 512)), 512},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.CRC = CRCOff
			r := newRig(t, false, tt.cfg)
			p := dialPeer(t, r.listener.Addr().String())
			p.write(tt.request)
			req := r.request()
			if got, want := string(req.Info().PrivateData), strings.Repeat("p", tt.max); got != want {
				t.Errorf("private data %q, want %q", got, want)
			}
			long := make([]byte, tt.max+1)
			if _, err := req.Accept(t.Context(), long); !errors.Is(err, transport.ErrPrivateData) {
				t.Errorf("Accept: got error %v, want %v", err, transport.ErrPrivateData)
			}
			if err := req.Reject(long); !errors.Is(err, transport.ErrPrivateData) {
				t.Errorf("Reject: got error %v, want %v", err, transport.ErrPrivateData)
			}
			if _, err := (Dialer{tt.cfg}).Dial(t.Context(), r.listener.Addr().String(), long); !errors.Is(err, transport.ErrPrivateData) {
				t.Errorf("Dial: got error %v, want %v", err, transport.ErrPrivateData)
			}
			ep, err := req.Accept(t.Context(), long[:tt.max])
			if err != nil {
				t.Fatal(err)
			}
			reply := p.readStartup()
			if got := string(reply[len(reply)-tt.max:]); got != string(long[:tt.max]) {
				t.Errorf("reply with private data %q", got)
			}
			alive(p, newLocal(t, ep).start())
		})
	}
}

// TestAutomaticRejects has requests that a listener cannot accept.
func TestAutomaticRejects(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cfg     Config
		request []byte
		reply   []byte // nil: the connection is closed
		want    error
		counter string
	}{
		{"IRD too small", Config{ORD: 8, RequiredORD: 4}, requestFrame(0x10, 2, "\x00\x03\x00\x02"),
			replyFrame(0x30, 2, "\x00\x10\x00\x04"), mpa.ErrInsufficientIRD, "Rejected"},
		{"markers", Config{}, requestFrame(0x80, 1, ""), replyFrame(0x20, 1, ""), mpa.ErrMarkers, "Rejected"},
		{"revision 0", Config{}, requestFrame(0x00, 0, ""), replyFrame(0x20, 1, ""), mpa.ErrRevision, "Rejected"},
		{"enhanced, but never", Config{Enhanced: mpa.EnhancedNever}, requestFrame(0x10, 2, clientServer), nil, mpa.ErrEnhanced, "HandshakeFailures"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.CRC = CRCOff
			r := newRig(t, false, tt.cfg)
			p := dialPeer(t, r.listener.Addr().String())
			p.write(tt.request)
			req := r.request()
			if ep, err := req.Accept(t.Context(), []byte("secret")); !errors.Is(err, tt.want) || ep != nil {
				t.Errorf("Accept: got %v, %v, want %v", ep, err, tt.want)
			}
			if tt.reply != nil {
				p.wantStartup(tt.reply)
			}
			p.wantFIN()
			r.wantCounters(map[string]int{tt.counter: 1})
			r.log.want(t, 1, p.conn.LocalAddr().String())
		})
	}
}

// TestListenerCloses ends a listener with connections in every state: those that are made stay.
func TestListenerCloses(t *testing.T) {
	r := newRig(t, false, Config{CRC: CRCOff})
	made, l := r.connect()
	silent := dialPeer(t, r.listener.Addr().String())
	half := dialPeer(t, r.listener.Addr().String())
	half.write(requestFrame(0x10, 2, clientServer)[:10])
	waiting := dialPeer(t, r.listener.Addr().String())
	waiting.write(requestFrame(0x10, 2, clientServer))
	pending := func() bool {
		r.listener.mu.Lock()
		defer r.listener.mu.Unlock()
		return len(r.listener.silent) == 2 && r.listener.waiting == 1
	}
	for !pending() {
		time.Sleep(time.Millisecond)
	}
	for range 2 {
		if err := r.listener.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	for _, p := range []*peer{silent, half, waiting} {
		// That nobody has read what was sent is no reason to see to an orderly end here.
		if _, err := p.conn.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Errorf("connection not closed: %v", err)
		}
	}
	if _, err := r.listener.Accept(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: got error %v, want %v", err, net.ErrClosed)
	}
	alive(made, l.start())
	r.log.want(t, 0)
}

// A Terminate carries a CRC if the peer's reply asks for it, though our request did not.
func TestTerminatedReplyCRC(t *testing.T) {
	r := newRig(t, true, Config{CRC: CRCOff})
	dial := r.dial(t.Context())
	p := acceptPeer(t, r.peers)
	p.crc = true
	p.readStartup()
	p.write(replyFrame(0x50, 2, "\x00\x10\x00\x11"))
	p.wantTerminate([]byte{0x20, 0x06, 0, 0})
	if d := await(t, "Dial", dial); !errors.Is(d.err, mpa.ErrInsufficientIRD) {
		t.Errorf("Dial: got error %v, want %v", d.err, mpa.ErrInsufficientIRD)
	}
}

// deadlines is a connection that tells of the deadlines it is given, and waits for leave with all but the first.
type deadlines struct {
	net.Conn
	set   chan time.Time
	leave chan struct{}
}

func (d *deadlines) SetDeadline(t time.Time) error {
	d.set <- t
	<-d.leave
	return nil
}

// A context that ends just when the startup is through does not set the deadline of what follows.
func TestLimitStops(t *testing.T) {
	conn := &deadlines{set: make(chan time.Time, 2), leave: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	conn.leave <- struct{}{}
	stop, err := limit(ctx, conn, patience)
	if err != nil {
		t.Fatal(err)
	}
	<-conn.set
	cancel()
	<-conn.set // it is being set
	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	select {
	case <-stopped:
		t.Error("stop has returned while a deadline is being set")
	case <-time.After(20 * time.Millisecond): // enough to fail now and then, if it is wrong
	}
	close(conn.leave)
	await(t, "stop", stopped)
}
