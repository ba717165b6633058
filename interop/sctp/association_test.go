//go:build interop

package sctp

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
)

// unhex decodes hexadecimal with blanks, after replacing each old by its new.
func unhex(t *testing.T, s string, oldNew ...string) []byte {
	t.Helper()
	s = strings.ReplaceAll(strings.NewReplacer(oldNew...).Replace(s), " ", "")
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pair starts two peers with a relay between them. It returns when the association is up, with four
// streams each way.
func pair(t *testing.T, forward func(datagram) []datagram) (l, c *peer, r *relay) {
	t.Helper()
	l = listen(t, "-n", "4", "-i", "1")
	r = startRelay(t, l.udp, forward)
	c = connect(t, r.port(), "-n", "4", "-i", "1")
	for _, p := range []*peer{l, c} {
		p.expect("up 4 4", "indication 00000001")
	}
	return l, c, r
}

// Each end reports the other's indication, which was on the wire as parameter C006, or none.
func TestIndication(t *testing.T) {
	for _, tt := range []struct{ name, listener, connector string }{
		{"DDP", "00000001", "00000001"},
		{"DDP and RDMA", "00000002", "00000002"},
		{"unequal", "00000002", "00000001"},
		{"another", "00000000", "fedcba98"},
		{"none from the listener", "none", "00000001"},
		{"none from the connector", "00000001", "none"},
		{"none", "none", "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := func(indication string) []string {
				if indication == "none" {
					return nil
				}
				return []string{"-i", "0x" + indication}
			}
			param := func(indication string) string {
				if indication == "none" {
					return ""
				}
				return "c0060008" + indication
			}
			l := listen(t, append(args(tt.listener), "-s", "20049", "-n", "8")...)
			r := startRelay(t, l.udp, nil)
			c := connect(t, r.port(),
				append(args(tt.connector), "-s", "700", "-d", "20049", "-n", "3")...)
			l.expect("up 3 3", "indication "+tt.connector)
			c.expect("up 3 3", "indication "+tt.listener)

			all := r.datagrams()
			for _, end := range []struct {
				fromClient   bool
				source, dest uint16
				kind         byte
				want         string
			}{
				{true, 700, 20049, chunkInit, param(tt.connector)},
				{false, 20049, 700, chunkInitAck, param(tt.listener)},
			} {
				packets := parseAll(t, all, end.fromClient)
				for _, p := range packets {
					if p.Source != end.source || p.Dest != end.dest {
						t.Errorf("ports %d to %d, want %d to %d",
							p.Source, p.Dest, end.source, end.dest)
					}
				}
				inits := chunksOf(packets, end.kind)
				if len(inits) == 0 {
					t.Errorf("there is no chunk of type %d", end.kind)
				}
				for _, c := range inits {
					if got, err := c.indication(); err != nil || got != end.want {
						t.Errorf("chunk of type %d: indication %q, error %v, want %q",
							end.kind, got, err, end.want)
					}
				}
			}
		})
	}
}

// Messages go both ways on several streams, ordered and unordered. They are on the wire as
// commanded, and fragments are put together.
func TestMessages(t *testing.T) {
	l, c, r := pair(t, nil)
	long := strings.Repeat("0123456789abcdef", 500) // 4000 bytes
	sent := []message{
		{Stream: 0, PPID: 17, Unordered: true, Bytes: "00000001"},
		{Stream: 3, PPID: 16, Unordered: true, Bytes: "0001c0ffee"},
		{Stream: 1, PPID: 0xfffffffe, Unordered: false, Bytes: "00"},
		{Stream: 1, PPID: 0, Unordered: false, Bytes: "0102"},
		{Stream: 2, PPID: 16, Unordered: true, Bytes: long},
	}
	for _, way := range []struct {
		from, to   *peer
		fromClient bool
	}{{c, l, true}, {l, c, false}} {
		var got []message
		var tsns []uint32
		for _, m := range sent {
			// One at a time, to know the order.
			way.from.send(m.Stream, m.PPID, m.Unordered, m.Bytes)
			m := way.to.receive()
			tsns = append(tsns, m.TSN)
			m.TSN = 0
			got = append(got, m)
		}
		if diff := cmp.Diff(sent, got); diff != "" {
			t.Errorf("from %s (-sent +received):\n%s", way.from.role, diff)
		}
		way.from.acknowledged()

		chunks := dataOf(t, parseAll(t, r.datagrams(), way.fromClient))
		if len(chunks) <= len(sent) {
			t.Fatalf("%d chunks for %d messages, of which one has to be fragmented",
				len(chunks), len(sent))
		}
		var whole string
		for i, d := range chunks {
			m := sent[min(i, len(sent)-1)]
			want := data{0, tsns[0] + uint32(i), uint16(m.Stream), m.PPID, m.Bytes}
			if m.Unordered {
				want.Flags = unordered
			}
			if i <= len(sent)-1 {
				want.Flags |= firstFragment
			}
			if i < len(sent)-1 || i == len(chunks)-1 {
				want.Flags |= lastFragment
			}
			if i >= len(sent)-1 {
				whole += d.Bytes
				want.Bytes = d.Bytes
			}
			if d != want {
				t.Errorf("from %s, chunk %d is %+v, want %+v", way.from.role, i, d, want)
			}
		}
		if whole != long {
			t.Errorf("from %s, the fragments are %q, want %q", way.from.role, whole, long)
		}
	}
}

// An unordered message is delivered at once, with its TSN, although an earlier one is missing. An
// ordered message waits for that one.
func TestOutOfOrder(t *testing.T) {
	var held []datagram // those with the first data of the client, until there is data on stream 3
	var heldTSN uint32
	var began, released bool
	l, c, r := pair(t, func(d datagram) []datagram {
		p, err := parsePacket(d.Payload)
		if err != nil || !d.FromClient || released {
			return []datagram{d}
		}
		hold := false
		for _, chunk := range chunksOf([]packet{p}, chunkData) {
			m, err := chunk.data()
			if err != nil {
				t.Error(err)
			}
			if !began {
				began, heldTSN = true, m.TSN
			}
			hold = hold || m.TSN == heldTSN
			released = released || m.Stream == 3
		}
		switch {
		case released:
			return append(held, d)
		case hold:
			held = append(held, d)
			return nil
		}
		return []datagram{d}
	})
	c.send(1, 16, false, "00")
	c.send(1, 16, false, "01")
	c.send(2, 16, true, "02")
	got := []message{l.receive()}
	c.send(3, 16, true, "03")
	for range 3 {
		got = append(got, l.receive())
	}
	first := dataOf(t, parseAll(t, r.datagrams(), true))[0].TSN
	want := []message{
		{2, 16, true, first + 2, "02"},
		{1, 16, false, first, "00"},
		{1, 16, false, first + 1, "01"},
		{3, 16, true, first + 3, "03"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Either end ends the association, by ABORT or by SHUTDOWN, and both report how it ended.
func TestEnd(t *testing.T) {
	// ABORT with the cause User-Initiated Abort (RFC 9260 section 3.3.10.12), without a reason.
	const aborted = "down lost 06000008000c0004"
	for _, tt := range []struct{ command, own, other string }{
		{"abort", "down lost -", aborted},
		{"shutdown", "down shutdown -", "down shutdown -"},
	} {
		for _, role := range []string{"listen", "connect"} {
			t.Run(tt.command+" by "+role, func(t *testing.T) {
				ends, other, _ := pair(t, nil)
				if role == "connect" {
					ends, other = other, ends
				}
				ends.command(tt.command)
				ends.expect(tt.own)
				other.expect(tt.other)
				ends.send(0, 16, true, "00")
				ends.expect("error send: there is no association")
			})
		}
	}
}

// A peer that connects to a port without a listener is refused by ABORT.
func TestRefused(t *testing.T) {
	l := listen(t, "-s", "5001")
	c := connect(t, l.udp, "-d", "5000")
	if line := c.next(); !strings.HasPrefix(line, "down refused 06") {
		t.Errorf("the peer says %q, want that it was refused by ABORT", line)
	}
}

// A peer that restarts on the same ports continues the association, and the other end reports that.
func TestRestart(t *testing.T) {
	l := listen(t)
	c := connect(t, l.udp, "-i", "1")
	l.expect("up 16 16", "indication 00000001")
	c.expect("up 16 16", "indication none")
	c.command("quit")
	hang.Receive(t, "the peer to quit", c.ended)
	again := connect(t, l.udp, "-u", strconv.Itoa(c.udp), "-i", "2")
	again.expect("up 16 16", "indication none")
	l.expect("restart")
}

// A peer ends when its standard input does, with an association and without one.
func TestInputEnds(t *testing.T) {
	for _, role := range []string{"listen", "connect"} {
		t.Run(role, func(t *testing.T) {
			l, c, _ := pair(t, nil)
			if role == "connect" {
				l = c
			}
			l.stdin.Close()
			if err := hang.Receive(t, "the peer to end", l.ended); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("alone", func(t *testing.T) {
		l := listen(t)
		l.stdin.Close()
		if err := hang.Receive(t, "the peer to end", l.ended); err != nil {
			t.Error(err)
		}
	})
}

// Invalid commands are refused, and the peer goes on.
func TestBadCommand(t *testing.T) {
	l := listen(t)
	for _, command := range []string{"nonsense", "send 1 16 u", "send 1 16 u 0", "send 1 16 u xy"} {
		l.command(command)
		l.expect("error command")
	}
	l.command(fmt.Sprintf("send 0 16 u %s", "00"))
	l.expect("error send: there is no association")
}
