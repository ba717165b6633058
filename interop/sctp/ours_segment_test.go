//go:build interop

package sctp

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// inBothRoles runs a test on a session on stream 0, with a peer that asks and with one that is
// asked. Each side has sent and received DDP-SSN 0. In the draft, the side that asks has sent an
// RDMA Write of no bytes instead.
func inBothRoles(t *testing.T, low sctp.Config, f func(r *rig, e *end)) {
	cfg := iwarp.Config{Enhanced: mpa.EnhancedNever}
	t.Run("listener", func(t *testing.T) {
		r := asked(t, cfg, low, nil)
		defer r.over()
		f(r, r.session(0))
	})
	t.Run("dialer", func(t *testing.T) {
		r := asks(t, cfg, low)
		defer r.over()
		dial := r.dial("")
		r.expectUp()
		if low.Draft {
			e := r.end(dial)
			r.hears(0, 1, "c1 40 00000001 0000000000000000")
			f(r, e)
			return
		}
		r.hears(0, 17, "0000 0001")
		r.says(0, 17, "0000 0002")
		f(r, r.end(dial))
	})
}

// wire is how segments are carried: by RFC 5043 or by the draft.
type wire struct {
	low  sctp.Config
	ppid uint32
}

func (w wire) String() string { return fmt.Sprintf("draft=%t", w.low.Draft) }

// ssn returns the DDP-SSN before a segment, or "" in the draft, which has none.
func (w wire) ssn(n int) string {
	if w.low.Draft {
		return ""
	}
	return fmt.Sprintf("%04x", n)
}

// onBothWires runs a test with both, in both roles.
func onBothWires(t *testing.T, f func(w wire, r *rig, e *end)) {
	for _, w := range []wire{{sctp.Config{}, 16}, {sctp.Config{Draft: true}, 1}} {
		t.Run(w.String(), func(t *testing.T) {
			inBothRoles(t, w.low, func(r *rig, e *end) { f(w, r, e) })
		})
	}
}

// Sends go both ways.
func TestOurSend(t *testing.T) {
	onBothWires(t, func(w wire, r *rig, e *end) {
		for i := 1; i <= 3; i++ {
			e.receives()
			r.says(0, w.ppid, w.ssn(i)+send(i, fmt.Sprintf("68 69 %02x", i)))
			e.wantMessage(fmt.Sprintf("68 69 %02x", i))
			e.send(fmt.Sprintf("79 6f %02x", i))
			r.hears(0, w.ppid, w.ssn(i)+send(i, fmt.Sprintf("79 6f %02x", i)))
		}
	})
}

// Messages of several segments go both ways. SCTP fragments none of ours.
func TestOurSegments(t *testing.T) {
	const mtu = 1000
	onePacket := sctp.Config{MTU: mtu}
	payload := strings.Repeat("0123456789abcdef", 300) // 2400 bytes
	inBothRoles(t, onePacket, func(r *rig, e *end) {
		e.receives()
		// Untagged segments of 1000, 1000 and 400 bytes: L is set in the last.
		r.says(0, 16, "0001 01 43 00000000 00000000 00000001 00000000"+payload[:2000])
		r.says(0, 16, "0002 01 43 00000000 00000000 00000001 000003e8"+payload[2000:4000])
		r.says(0, 16, "0003 41 43 00000000 00000000 00000001 000007d0"+payload[4000:])
		e.wantMessage(payload)

		e.send(payload)
		var got string
		for ssn := 1; len(got) < len(payload); ssn++ {
			m := r.peer.receive()
			const header = 2 + 18
			if len(m.Bytes) < 2*header || len(m.Bytes)/2 > mtu-12-16 {
				t.Fatalf("a segment of %d bytes with its DDP-SSN", len(m.Bytes)/2)
			}
			flags := "01" // of DDP: version 1
			if len(got)+len(m.Bytes)-2*header == len(payload) {
				flags = "41" // and L
			}
			want := fmt.Sprintf("%04x%s430000000000000000%08x%08x", ssn, flags, 1, len(got)/2)
			if m.Bytes[:2*header] != want || m.PPID != 16 || !m.Unordered {
				t.Errorf("segment %d: %+v, want %s", ssn, m, want)
			}
			got += m.Bytes[2*header:]
		}
		if got != payload {
			t.Errorf("we send %s, want %s", got, payload)
		}
		for _, d := range dataOf(t, parseAll(t, r.relay.datagrams(), r.listen == nil)) {
			if d.Flags&(firstFragment|lastFragment) != firstFragment|lastFragment {
				t.Errorf("a chunk of ours is a fragment: %+v", d)
			}
		}
	})
}

// A segment that the peer's SCTP has fragmented is put together.
func TestOurFragments(t *testing.T) {
	payload := strings.Repeat("0123456789abcdef", 500) // 4000 bytes
	onBothWires(t, func(w wire, r *rig, e *end) {
		e.receives()
		r.says(0, w.ppid, w.ssn(1)+send(1, payload))
		e.wantMessage(payload)
		fragments := 0
		for _, d := range dataOf(t, parseAll(t, r.relay.datagrams(), r.listen != nil)) {
			if d.Flags&(firstFragment|lastFragment) != firstFragment|lastFragment {
				fragments++
			}
		}
		if fragments < 2 {
			t.Errorf("there are %d fragments", fragments)
		}
	})
}

// Two segments that the peer's SCTP has fragmented are unfinished at once, as every second fragment
// is lost at first.
func TestOurLostFragments(t *testing.T) {
	for _, w := range []wire{{sctp.Config{}, 16}, {sctp.Config{Draft: true}, 1}} {
		t.Run(w.String(), func(t *testing.T) {
			fragments, lost := make(map[uint32]bool), 0
			r := asked(t, iwarp.Config{Enhanced: mpa.EnhancedNever}, w.low, func(d datagram) []datagram {
				p, err := parsePacket(d.Payload)
				if err != nil || !d.FromClient {
					return []datagram{d}
				}
				for _, c := range chunksOf([]packet{p}, chunkData) {
					m, err := c.data()
					whole := m.Flags&(firstFragment|lastFragment) == firstFragment|lastFragment
					if err != nil || whole || fragments[m.TSN] {
						continue
					}
					if fragments[m.TSN] = true; len(fragments)%2 == 0 {
						lost++
						return nil
					}
				}
				return []datagram{d}
			})
			defer r.over()
			e := r.session(0)
			var payloads []string
			for i := 1; i <= 2; i++ {
				e.receives()
				payloads = append(payloads, strings.Repeat(fmt.Sprintf("%02x23456789abcdef", i), 500))
				r.says(0, w.ppid, w.ssn(i)+send(i, payloads[i-1]))
			}
			for _, payload := range payloads {
				e.wantMessage(payload)
			}
			if lost < 2 {
				t.Errorf("%d fragments were lost of %d", lost, len(fragments))
			}
		})
	}
}

// The peer's RDMA Write goes to our window, and ours to the peer's.
func TestOurWrite(t *testing.T) {
	onBothWires(t, func(w wire, r *rig, e *end) {
		window := make([]byte, 16)
		regions, err := e.Expose(nil, memory(window), transport.RemoteWrite)
		if err != nil {
			r.t.Fatal(err)
		}
		e.receives()
		at := func(offset int) string {
			return fmt.Sprintf("%08x %016x", regions[0].STag, regions[0].Base+uint64(offset))
		}
		// In two segments, the second with L, followed by a Send, which completes once both have
		// arrived.
		r.says(0, w.ppid, w.ssn(1)+"81 40"+at(4)+"11 22 33 44")
		r.says(0, w.ppid, w.ssn(2)+"c1 40"+at(8)+"55 66")
		r.says(0, w.ppid, w.ssn(3)+send(1, "77"))
		e.wantMessage("77")
		if got, want := fmt.Sprintf("%x", window), "00000000112233445566000000000000"; got != want {
			r.t.Errorf("the window is %s, want %s", got, want)
		}

		e.post(&transport.WorkRequest{Op: transport.OpWrite, Local: memory([]byte("hello")),
			Remote: transport.Remote{STag: 0xaabbccdd, Offset: 0x1122334455667788}})
		r.hears(0, w.ppid, w.ssn(1)+"c1 40 aabbccdd 1122334455667788 68656c6c6f")
	})
}

// Our RDMA Read is answered by the peer, and the peer's by us.
func TestOurRead(t *testing.T) {
	onBothWires(t, func(w wire, r *rig, e *end) {
		sink := make([]byte, 6)
		e.post(&transport.WorkRequest{Op: transport.OpRead, Flags: transport.Signaled,
			Local:  memory(sink),
			Remote: transport.Remote{STag: 0xaabbccdd, Offset: 0x1122334455667788}})
		m := r.peer.receive()
		// Queue 1, MSN 1; the sink's STag and offset, of our choosing; the size, and the source.
		const sinkLen = 2 * (4 + 8)
		head := fmt.Sprintf("%x", unhex(r.t, w.ssn(1)+"41 41 00000000 00000001 00000001 00000000"))
		tail := fmt.Sprintf("%x", unhex(r.t, "00000006 aabbccdd 1122334455667788"))
		if m.PPID != w.ppid || len(m.Bytes) != len(head)+sinkLen+len(tail) ||
			!strings.HasPrefix(m.Bytes, head) || !strings.HasSuffix(m.Bytes, tail) {
			r.t.Fatalf("we send %+v, want %s, the sink, and %s", m, head, tail)
		}
		at := unhex(r.t, m.Bytes[len(head):][:sinkLen])
		second := binary.BigEndian.AppendUint64(at[:4:4], binary.BigEndian.Uint64(at[4:])+4)
		// The response is in two segments, which come in the other order where there is a DDP-SSN.
		segments := []string{
			w.ssn(1) + fmt.Sprintf("81 42 %x 01020304", at),
			w.ssn(2) + fmt.Sprintf("c1 42 %x 0506", second),
		}
		if !w.low.Draft {
			segments[0], segments[1] = segments[1], segments[0]
		}
		for _, s := range segments {
			r.says(0, w.ppid, s)
		}
		if err := hang.Receive(r.t, "the completion", e.completions); err != nil {
			r.t.Fatal(err)
		}
		if got, want := fmt.Sprintf("%x", sink), "010203040506"; got != want {
			r.t.Errorf("we have read %s, want %s", got, want)
		}

		regions, err := e.Expose(nil, memory([]byte("0123456789")), transport.RemoteRead)
		if err != nil {
			r.t.Fatal(err)
		}
		r.says(0, w.ppid, w.ssn(3)+fmt.Sprintf("41 41 00000000 00000001 00000001 00000000"+
			"aabbccdd 1122334455667788 00000004 %08x %016x", regions[0].STag, regions[0].Base+3))
		r.hears(0, w.ppid, w.ssn(2)+"c1 42 aabbccdd 1122334455667788 33343536")
	})
}

// Segments that arrive in any order of their DDP-SSNs are delivered in order.
func TestOurOutOfOrder(t *testing.T) {
	inBothRoles(t, sctp.Config{}, func(r *rig, e *end) {
		const n = 6
		for range n {
			e.receives()
		}
		for _, i := range []int{3, 6, 2, 5, 1, 4} {
			r.says(0, 16, fmt.Sprintf("%04x", i)+send(i, fmt.Sprintf("%02x", i)))
		}
		for i := 1; i <= n; i++ {
			e.wantMessage(fmt.Sprintf("%02x", i))
		}
		// Terminate comes after all of them.
		e.receives()
		r.says(0, 17, "0008 0004")
		r.says(0, 16, "0007"+send(n+1, "aa"))
		e.wantMessage("aa")
		e.ended()
		r.hears(0, 17, "0001 0004")
	})
}

// A segment arrives before the Accept sent ahead of it.
func TestOurOvertaken(t *testing.T) {
	r := asks(t, iwarp.Config{Enhanced: mpa.EnhancedNever}, sctp.Config{})
	defer r.over()
	dial := r.dial("")
	r.expectUp()
	r.hears(0, 17, "0000 0001")
	r.says(0, 16, "0001"+send(1, "6869"))
	r.says(0, 17, "0000 0002")
	d := hang.Receive(t, "Dial", dial)
	if d.err != nil {
		t.Fatal(d.err)
	}
	if err := d.ep.PostRecv(&transport.RecvRequest{Local: memory(make([]byte, 10))}); err != nil {
		t.Fatal(err)
	}
	newEnd(t, d.ep).wantMessage("6869")
}

// In the draft the order is that of the TSNs. A message whose packet is late delays later ones on
// all streams.
func TestOurDraftOutOfOrder(t *testing.T) {
	var held []datagram
	r := asked(t, iwarp.Config{Enhanced: mpa.EnhancedNever}, sctp.Config{Draft: true},
		func(d datagram) []datagram {
			// A packet with the byte ee is held back until after a packet with ff.
			p, err := parsePacket(d.Payload)
			if err != nil || !d.FromClient {
				return []datagram{d}
			}
			for _, c := range chunksOf([]packet{p}, chunkData) {
				switch m, _ := c.data(); {
				case strings.HasSuffix(m.Bytes, "ee"):
					held = append(held, d)
					return nil
				case strings.HasSuffix(m.Bytes, "ff"):
					all := append([]datagram{d}, held...)
					held = nil
					return all
				}
			}
			return []datagram{d}
		})
	defer r.over()
	a, b := r.session(0), r.session(1)
	for range 2 {
		a.receives()
		b.receives()
	}
	r.says(0, 1, send(1, "ee"))
	r.says(1, 1, send(1, "01"))
	for i := 1; i <= 3; i++ { // time for it to be delivered
		b.send("aa")
		r.hears(1, 1, send(i, "aa"))
	}
	select {
	case m := <-b.messages:
		t.Errorf("%s is delivered, with a TSN in front of it missing", m)
	default:
	}
	r.says(1, 1, send(2, "ff"))
	a.wantMessage("ee")
	b.wantMessage("01")
	b.wantMessage("ff")
}

// The draft's Reset ends a stream both ways; the stream can then be used again. We accept it with
// either PPID, and send it with 1.
func TestOurReset(t *testing.T) {
	for _, ppid := range []uint32{1, 2} {
		t.Run(fmt.Sprint(ppid), func(t *testing.T) {
			r := asked(t, iwarp.Config{Enhanced: mpa.EnhancedNever}, sctp.Config{Draft: true}, nil)
			defer r.over()
			for range 3 {
				e := r.session(2)
				e.receives()
				r.says(2, 1, send(1, "6869"))
				e.wantMessage("6869")
				r.says(2, ppid, "00000001")
				e.ended()
				r.hears(2, 1, "00000001")
			}
		})
	}
}
