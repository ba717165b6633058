package sctp

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestFragmentsModel sends messages in fragments that are lost, repeated and out of order. Each
// message comes once, byte for byte, as soon as all of it has come, and each SACK tells what has.
func TestFragmentsModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		first := rapid.SampledFrom([]uint32{1, 1<<32 - 3, 1<<31 - 5, 12345}).Draw(r, "first")
		l, sent := newInboundLink(t, Config{Window: 64 << 10, StreamMemory: 64 << 10})
		l.start(1, first)
		type part struct{ message, of int }
		var chunks [][]byte
		var parts []part
		var messages [][]byte
		for i := range rapid.IntRange(1, 8).Draw(r, "messages") {
			n := rapid.IntRange(1, 12).Draw(r, "fragments")
			some, message := fragmentsOf(first+uint32(len(chunks)), n,
				rapid.IntRange(1, 40).Draw(r, "size"), byte(16*i))
			chunks, messages = append(chunks, some...), append(messages, message)
			for range n {
				parts = append(parts, part{i, n})
			}
		}
		came, whole := make([]bool, len(chunks)), make([]int, len(messages))
		send := func(some []int) {
			var packet [][]byte
			var want [][]byte
			for _, i := range some {
				packet = append(packet, chunks[i])
				if m := parts[i]; !came[i] {
					came[i] = true
					if whole[m.message]++; whole[m.message] == m.of {
						want = append(want, messages[m.message])
					}
				}
			}
			l.deliver(t, packet...)
			l.in.delayed()
			var got [][]byte
			for _, m := range l.received() {
				got = append(got, m.Data)
				if m.Stream != 1 || m.PPID != 16 || !m.Unordered {
					r.Fatalf("got %+v", m)
				}
			}
			if !slices.EqualFunc(got, want, bytes.Equal) {
				r.Fatalf("after %d: got %x, want %x", some, got, want)
			}
			told := sent.sacks(t)
			if len(told) != 1 {
				r.Fatalf("%d SACKs for a packet", len(told))
			}
			cum := 0
			for cum < len(came) && came[cum] {
				cum++
			}
			var blocks []gapBlock
			for i := cum; i < len(came); i++ {
				switch {
				case !came[i]:
				case came[i-1]:
					blocks[len(blocks)-1].last++
				default:
					blocks = append(blocks, gapBlock{uint16(i - cum + 1), uint16(i - cum + 1)})
				}
			}
			if s := told[0]; s.cum != first+uint32(cum)-1 || !slices.Equal(s.blocks, blocks) {
				r.Fatalf("after %d: SACK %+v, want %d and %v", some, s, cum, blocks)
			}
		}
		any := rapid.SliceOfN(rapid.IntRange(0, len(chunks)-1), 1, 6)
		for range rapid.IntRange(0, 20).Draw(r, "packets") {
			send(any.Draw(r, "packet"))
		}
		for i := range chunks { // what was lost is repeated
			send([]int{i})
		}
		l.over(t)
	})
}

// TestTwoUnfinished: two messages are unfinished at once, when packets are lost.
func TestTwoUnfinished(t *testing.T) {
	l, _ := newInboundLink(t, Config{})
	a, first := fragmentsOf(1, 50, 1000, 1)
	b, second := fragmentsOf(51, 50, 1000, 99)
	for i, c := range slices.Concat(a, b) {
		if i%7 != 3 {
			l.deliver(t, c)
		}
	}
	if got := l.received(); len(got) > 0 {
		t.Errorf("got %d messages with fragments missing", len(got))
	}
	for i, c := range slices.Backward(slices.Concat(a, b)) {
		if i%7 == 3 {
			l.deliver(t, c)
		}
	}
	got := l.received()
	if len(got) != 2 || !bytes.Equal(got[0].Data, second) || !bytes.Equal(got[1].Data, first) ||
		got[0].First != 51 || got[0].Last != 100 || got[1].First != 1 || got[1].Last != 50 {
		t.Errorf("got %d messages: %+v", len(got), got)
	}
	l.over(t)
}

// TestFragmentFloods: fragments of messages that never become whole take no more memory than is
// said, whatever they are. What exceeds it is dropped, and not acknowledged. Each datagram gets one
// SACK. Then the missing ones come, and a message comes through.
func TestFragmentFloods(t *testing.T) {
	const window = 64 << 10
	for _, tt := range []struct {
		name  string
		flags byte
		size  int
		tsn   func(i int) uint32
		begin func(tsn uint32) bool // whether one that is missing has B
	}{
		{"of a byte, neither B nor E", 0, 1, func(i int) uint32 { return 2 + uint32(i) }, isFirst},
		{"of a byte, every second TSN", 0, 1, func(i int) uint32 { return 2 + 2*uint32(i) }, isFirst},
		{"of a byte, backwards", 0, 1, func(i int) uint32 { return 2000 - uint32(i)%1999 }, isFirst},
		{"large ones, with E", flagEnd, 900, func(i int) uint32 { return 2 + 2*uint32(i) },
			func(uint32) bool { return true }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, sent := newInboundLink(t, Config{
				Window: window, StreamMemory: window, Memory: 16 * window,
			})
			const packets = 200
			bundle := min(30, 8000/(dataHeaderLen+tt.size))
			data := make([]byte, tt.size)
			most := uint32(0)
			for i := range packets {
				var chunks [][]byte
				for j := range bundle {
					chunks = append(chunks, dataChunk(tt.tsn(i*bundle+j), tt.flags, data))
				}
				l.deliver(t, chunks...)
				told := sent.sacks(t)
				if len(told) != 1 || told[0].cum != 0 {
					t.Fatalf("packet %d: SACKs %+v", i, told)
				}
				for _, b := range told[0].blocks {
					most = max(most, uint32(b.last))
				}
			}
			if n := l.reserved(); n > maxOverhead*window {
				t.Errorf("%d bytes are reserved, want %d at most", n, maxOverhead*window)
			}
			if most > minAhead {
				t.Errorf("%d TSNs ahead were taken, want %d at most", most, minAhead)
			}
			if l.socket.cfg.Counters.Stats().Dropped == 0 && tt.name != "of a byte, backwards" {
				t.Error("no chunk was dropped")
			}
			top := l.in.got.top
			for tsn := uint32(1); tsn <= top; tsn++ {
				if l.in.got.has(tsn) {
					continue
				}
				var flags byte
				if tt.begin(tsn) {
					flags = flagBegin
				}
				l.deliver(t, dataChunk(tsn, flags, []byte{1}))
				l.received()
			}
			l.deliver(t, dataChunk(top+1, flagEnd&^tt.flags|flagBegin&(tt.flags<<1), []byte{1}))
			l.received()
			l.deliver(t, dataChunk(top+2, flagEnd|flagBegin&^(tt.flags<<1), []byte("hello")))
			if m := l.received(); len(m) != 1 || string(m[0].Data[max(0, len(m[0].Data)-5):]) != "hello" {
				t.Errorf("got %d messages; the association ends by %v", len(m), l.reason)
			}
			if l.reserved() > 0 {
				t.Errorf("then %d bytes are reserved", l.reserved())
			}
			l.over(t)
		})
	}
}

func isFirst(tsn uint32) bool { return tsn == 1 }

// TestNoSuchMessage: chunks without data, fragments that can belong to no message, and messages
// that are too long, end the association.
func TestNoSuchMessage(t *testing.T) {
	long, _ := fragmentsOf(1, 66, 1000, 0)
	const b, e = flagBegin, flagEnd
	one := func(tsn uint32, flags byte) []byte { return dataChunk(tsn, flags, []byte{1}) }
	for _, tt := range []struct {
		name   string
		chunks [][]byte
		reason error
		cause  uint16
	}{
		{"no data", [][]byte{dataChunk(1, b|e, nil)}, errNoData, causeNoUserData},
		{"too short for a TSN", [][]byte{{0, 7, 0, 4}}, errNoData, causeProtocolViolation},
		{"no B at first", [][]byte{one(1, 0)}, errFragments, causeProtocolViolation},
		{"no B behind a message", [][]byte{one(1, b|e), one(2, e)}, errFragments, causeProtocolViolation},
		{"no B behind E", [][]byte{one(3, e), one(4, 0)}, errFragments, causeProtocolViolation},
		{"B within a message", [][]byte{one(1, b), one(2, b)}, errFragments, causeProtocolViolation},
		{"no E in front of B", [][]byte{one(3, b), one(2, 0)}, errFragments, causeProtocolViolation},
		{"no E in front of a message", [][]byte{one(2, b|e), one(1, b)}, errFragments, causeProtocolViolation},
		{"E in front of no B", [][]byte{one(3, 0), one(2, e)}, errFragments, causeProtocolViolation},
		{"65,537 bytes or more", long, errTooLong, causeProtocolViolation},
		{"65,537 bytes or more, backwards", slices.Collect(backwards(long)), errTooLong, causeProtocolViolation},
		{"65,000 bytes", long[:65], nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, sent := newInboundLink(t, Config{})
			for _, c := range tt.chunks {
				l.take(c, linkPeer)
				if q, err := l.next(); err == nil {
					l.read(make([]byte, pionPacket), q)
				}
			}
			l.mu.Lock()
			reason := l.reason
			l.mu.Unlock()
			if reason != tt.reason {
				t.Errorf("the association ends by %v, want %v", reason, tt.reason)
			}
			if tt.reason != nil {
				last := chunk(unhex(t, sent.last())[headerLen:])
				if cause := binary.BigEndian.Uint16(last[4:]); !last.is(chunkAbort) || cause != tt.cause {
					t.Errorf("sent %x, want ABORT with cause %d", last, tt.cause)
				}
				n := len(sent.sent)
				l.take(one(90, b|e|flagImmediate), linkPeer)
				l.in.delayed()
				if len(sent.sent) > n {
					t.Errorf("then sent %q", sent.sent[n:])
				}
			}
			l.over(t)
		})
	}
}

func backwards(all [][]byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for _, c := range slices.Backward(all) {
			if !yield(c) {
				return
			}
		}
	}
}
