package sctp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

// newInboundLink returns a link whose peer's first TSN is 1, with a recorder of what it sends.
func newInboundLink(t testing.TB, cfg Config) (*link, *recorder) {
	t.Helper()
	cfg.MTU, cfg.Logger = 1000, slog.New(slog.DiscardHandler)
	c, err := cfg.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	sent := new(recorder)
	l := newLink(newSocket(c, sent), header{src: 1, dst: 2, tag: 3}, 4, 2, linkPeer)
	l.start(1, 1)
	return l, sent
}

// dataChunk returns a DATA chunk on stream 1, unordered, with PPID 16.
func dataChunk(tsn uint32, flags byte, data []byte) []byte {
	p := binary.BigEndian.AppendUint32(nil, tsn)
	p = append(p, 0, 1, 0, 0, 0, 0, 0, 16)
	return appendChunk(nil, chunkData, flags|flagUnordered, p, data)
}

// fragmentsOf returns the chunks of a message of n fragments, each with some bytes.
func fragmentsOf(tsn uint32, n, size int, fill byte) (chunks [][]byte, message []byte) {
	for i := range n {
		var flags byte
		if i == 0 {
			flags |= flagBegin
		}
		if i == n-1 {
			flags |= flagEnd
		}
		data := make([]byte, size)
		for j := range data {
			data[j] = fill + byte(i+j)
		}
		message = append(message, data...)
		chunks = append(chunks, dataChunk(tsn+uint32(i), flags, data))
	}
	return chunks, message
}

// deliver takes a packet as it comes from the network, and reads it.
func (l *link) deliver(t testing.TB, chunks ...[]byte) {
	t.Helper()
	l.take(slices.Concat(chunks...), linkPeer)
	p := make([]byte, pionPacket)
	for {
		l.mu.Lock()
		n := l.queue.Len()
		l.mu.Unlock()
		if n == 0 {
			return
		}
		q, err := l.next()
		if err != nil {
			t.Fatal(err)
		}
		if n := l.read(p, q); n > headerLen {
			t.Errorf("for pion/sctp there is %x", p[headerLen:n])
		}
	}
}

// received returns the messages that wait, in order of arrival, and gives back their memory.
func (l *link) received() (all []lower.Message) {
	for {
		l.in.mu.Lock()
		none := l.in.first == nil
		l.in.mu.Unlock()
		if none {
			return all
		}
		m, _ := l.in.receive(nil)
		l.in.giveBack(m.Reserved)
		all = append(all, m)
	}
}

// over ends the link. All that it had reserved must be back.
func (l *link) over(t testing.TB) {
	t.Helper()
	l.Close()
	l.in.close()
	l.received()
	all := int64(l.socket.cfg.Memory)
	if !l.socket.cfg.memory.Take(l.host, all) {
		t.Error("not all memory is back")
		return
	}
	l.socket.cfg.memory.Give(l.host, all)
}

// reserved returns how many bytes a host has from the memory of a Config, within a KiB.
func (l *link) reserved() int {
	other := peerhost.Host{}
	n := 0
	for all := l.socket.cfg.Memory; n+1<<10 <= all; n += 1 << 10 {
		if l.socket.cfg.memory.Fits(other, int64(all-n)) {
			break
		}
	}
	return n
}

// sack is what a SACK tells.
type sack struct {
	cum, window uint32
	blocks      []gapBlock
	duplicates  []uint32
}

// sacks returns the SACKs that were sent, and forgets them.
func (r *recorder) sacks(t testing.TB) (all []sack) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sent {
		p := unhex(t, s)
		if len(p) > 1000 {
			t.Errorf("a packet of %d bytes", len(p))
		}
		c, rest := nextChunk(p[headerLen:])
		if !c.is(chunkSack) || len(rest) > 0 {
			t.Fatalf("sent %x, want a SACK", p)
		}
		v := c.value()
		s := sack{cum: binary.BigEndian.Uint32(v), window: binary.BigEndian.Uint32(v[4:])}
		blocks, duplicates := binary.BigEndian.Uint16(v[8:]), binary.BigEndian.Uint16(v[10:])
		v = v[12:]
		for range blocks {
			s.blocks = append(s.blocks, gapBlock{binary.BigEndian.Uint16(v), binary.BigEndian.Uint16(v[2:])})
			v = v[4:]
		}
		for range duplicates {
			s.duplicates = append(s.duplicates, binary.BigEndian.Uint32(v))
			v = v[4:]
		}
		all = append(all, s)
	}
	r.sent = nil
	return all
}

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

// TestBlocks compares the Gap Ack Blocks of TSNs that are far apart with those of a list.
func TestBlocks(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		first := rapid.SampledFrom([]uint32{1, 64, 1<<32 - 130, 1<<31 - 5, 12345}).Draw(r, "first")
		s := newTSNs(first, 64<<10)
		came := make([]bool, minAhead+1) // by how far ahead; the next in order is missing
		for range rapid.IntRange(0, 20).Draw(r, "runs") {
			from := rapid.OneOf(rapid.IntRange(2, minAhead), rapid.IntRange(minAhead-70, minAhead)).Draw(r, "from")
			for i := range min(rapid.IntRange(1, 200).Draw(r, "length"), minAhead+1-from) {
				if !came[from+i] {
					came[from+i] = true
					s.add(first - 1 + uint32(from+i))
				}
			}
		}
		var want []gapBlock
		for i := 2; i < len(came); i++ {
			switch {
			case !came[i]:
			case came[i-1]:
				want[len(want)-1].last++
			default:
				want = append(want, gapBlock{uint16(i), uint16(i)})
			}
		}
		n := rapid.IntRange(0, 25).Draw(r, "most")
		if got := s.blocks(nil, n); !slices.Equal(got, want[:min(n, len(want))]) {
			r.Fatalf("got %v of at most %d, want %v", got, n, want)
		}
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

// TestWithoutRoom: while the share of a host is used up, the chunk that is next in order is taken,
// so that what waits can go on.
func TestWithoutRoom(t *testing.T) {
	l, _ := newInboundLink(t, Config{})
	used := int64(l.socket.cfg.Memory/2 - 1<<10)
	if !l.socket.cfg.memory.Take(l.host, used) {
		t.Fatal("no memory")
	}
	chunks, message := fragmentsOf(1, 40, 900, 7)
	for _, c := range chunks[1:] {
		l.deliver(t, c)
	}
	if n := l.socket.cfg.Counters.Stats().Dropped; n != 39 {
		t.Errorf("%d chunks are dropped, want 39", n)
	}
	for _, c := range chunks {
		l.deliver(t, c)
	}
	second := dataChunk(41, flagBegin|flagEnd, []byte("hello"))
	l.deliver(t, second) // waits for the first message to be received
	if got := l.received(); len(got) != 1 || !bytes.Equal(got[0].Data, message) {
		t.Errorf("got %d messages", len(got))
	}
	l.deliver(t, second)
	if got := l.received(); len(got) != 1 || string(got[0].Data) != "hello" {
		t.Errorf("then %d messages", len(got))
	}
	l.socket.cfg.memory.Give(l.host, used)
	l.over(t)
}

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

// TestPinned: a fragment of a byte keeps none of the packet that it came in.
func TestPinned(t *testing.T) {
	l, sent := newInboundLink(t, Config{})
	l.deliver(t, dataChunk(1, flagBegin|flagEnd, make([]byte, 8000)))
	l.received()
	duplicate := dataChunk(1, flagBegin|flagEnd, make([]byte, 8000))
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const n = 2000
	before := heap()
	for i := range n {
		l.deliver(t, dataChunk(uint32(3+2*i), 0, []byte{1}), duplicate)
		sent.sacks(t)
	}
	grown := int64(heap()) - int64(before)
	if reserved := int64(l.reserved()); grown > reserved || reserved > n*1000 {
		t.Errorf("%d fragments of a byte take %d bytes, and %d are reserved", n, grown, reserved)
	}
	l.over(t)
}

// TestStill: behind a consumer that stands still, no more waits than is said. The window closes
// before anything is dropped, and each probe is answered at once. The window is opened when the
// consumer goes on, and all comes through.
func TestStill(t *testing.T) {
	const window = 64 << 10
	for _, size := range []int{1, 300, 900} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l, sent := newInboundLink(t, Config{
					Window: window, StreamMemory: window, Memory: 64 * window,
				})
				data := bytes.Repeat([]byte{7}, size)
				cum, last := uint32(0), sack{window: window}
				for int(last.window) >= size {
					l.deliver(t, dataChunk(cum+1, flagBegin|flagEnd, data))
					l.in.delayed()
					told := sent.sacks(t)
					if last = told[len(told)-1]; last.cum == cum {
						t.Fatalf("after %d messages one is dropped", cum)
					}
					cum = last.cum
				}
				for last = (sack{}); last.cum != cum; { // probes, until one is no longer taken
					l.deliver(t, dataChunk(cum+1, flagBegin|flagEnd, data))
					told := sent.sacks(t)
					if len(told) != 1 || told[0].window != 0 {
						t.Fatalf("a probe is answered by %+v", told)
					}
					last, cum = sack{cum: cum}, told[0].cum
				}
				l.in.mu.Lock()
				memory := l.in.memory
				l.in.mu.Unlock()
				if memory > maxOverhead*window || memory < window {
					t.Errorf("%d bytes are taken, want %d to %d", memory, window, maxOverhead*window)
				}
				if got := l.received(); len(got) != int(cum) {
					t.Errorf("%d messages were acknowledged, and %d came", cum, len(got))
				}
				told := sent.sacks(t)
				if len(told) == 0 || len(told) > 4 || told[len(told)-1].window < window/2 {
					t.Errorf("the window is opened by %+v", told)
				}
				l.deliver(t, dataChunk(cum+1, flagBegin|flagEnd, []byte("hello")))
				if got := l.received(); len(got) != 1 || string(got[0].Data) != "hello" {
					t.Errorf("then %d messages came", len(got))
				}
				l.over(t)
			})
		})
	}
}

// TestShareReturns: while the share of a host is used up, the window is closed, and a probe is
// answered at once. The peer is told when others give back what they had.
func TestShareReturns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, sent := newInboundLink(t, Config{})
		defer l.over(t)
		used := int64(l.socket.cfg.Memory/2 - 1<<10)
		if !l.socket.cfg.memory.Take(l.host, used) {
			t.Fatal("no memory")
		}
		want := func(some ...sack) {
			t.Helper()
			synctest.Wait()
			if got := sent.sacks(t); fmt.Sprint(got) != fmt.Sprint(some) {
				t.Errorf("sent %+v, want %+v", got, some)
			}
		}
		data := make([]byte, 900)
		l.deliver(t, dataChunk(2, flagBegin|flagEnd, data)) // dropped
		want(sack{})
		l.deliver(t, dataChunk(1, flagBegin|flagEnd, data))
		want(sack{cum: 1})
		l.received()
		time.Sleep(time.Minute)
		want()
		l.socket.cfg.memory.Give(l.host, used)
		time.Sleep(sackDelay)
		want(sack{cum: 1, window: DefaultWindow})
		time.Sleep(time.Minute)
		want()
	})
}

// TestAcknowledged: every second packet with DATA is acknowledged at once, and others after 200 ms;
// at once, too, if one is missing, or came before, or asks for it (RFC 9260 section 6.2).
func TestAcknowledged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, sent := newInboundLink(t, Config{})
		defer l.over(t)
		want := func(some ...sack) {
			t.Helper()
			synctest.Wait()
			for i := range some {
				some[i].window = uint32(l.in.window())
			}
			if got := sent.sacks(t); fmt.Sprint(got) != fmt.Sprint(some) {
				t.Errorf("sent %+v, want %+v", got, some)
			}
		}
		one := func(tsn uint32, flags byte) {
			l.deliver(t, dataChunk(tsn, flagBegin|flagEnd|flags, []byte{1}))
		}
		one(1, 0)
		want()
		one(2, 0)
		want(sack{cum: 2})
		one(3, 0)
		time.Sleep(sackDelay - 1)
		want()
		time.Sleep(time.Nanosecond)
		want(sack{cum: 3})
		one(4, flagImmediate)
		want(sack{cum: 4})
		one(6, 0)
		want(sack{cum: 4, blocks: []gapBlock{{2, 2}}})
		one(8, 0)
		want(sack{cum: 4, blocks: []gapBlock{{2, 2}, {4, 4}}})
		one(7, 0)
		want(sack{cum: 4, blocks: []gapBlock{{2, 4}}})
		one(5, 0)
		want(sack{cum: 8})
		one(8, 0)
		want(sack{cum: 8, duplicates: []uint32{8}})
		time.Sleep(time.Second)
		want()
	})
}

// TestShuttingDown: SHUTDOWN has the cumulative TSN. Then each packet with DATA is answered by SACK
// and SHUTDOWN (RFC 9260 section 9.2).
func TestShuttingDown(t *testing.T) {
	l, sent := newInboundLink(t, Config{})
	defer l.over(t)
	l.deliver(t, dataChunk(1, flagBegin|flagEnd, []byte{1}))
	shutdown := "0001 0002 00000003 00000000 %s 0700 0008 %08x"
	if _, err := l.Write(unhex(t, fmt.Sprintf(shutdown, "", 77))); err != nil {
		t.Fatal(err)
	}
	l.deliver(t, dataChunk(2, flagBegin|flagEnd, []byte{1}))
	want := []string{
		fmt.Sprintf("%x", seal(unhex(t, fmt.Sprintf(shutdown, "", 1)))),
		fmt.Sprintf("%x", seal(unhex(t, fmt.Sprintf(shutdown,
			fmt.Sprintf("0300 0010 00000002 %08x 0000 0000", l.in.window()), 2)))),
	}
	if !slices.Equal(sent.sent, want) {
		t.Errorf("sent %q, want %q", sent.sent, want)
	}
}

// TestSacks: a SACK that covers more than is outstanding is ignored. Others go to pion/sctp.
func TestSacks(t *testing.T) {
	block := func(n int, b string) string { return unspaced(bytes.Repeat([]byte(b), n)) }
	for _, tt := range []struct {
		name   string
		cum    uint32
		blocks int
		value  string
		taken  bool
	}{
		{"of nothing", 0, 0, "", true},
		{"of all", 100, 0, "", true},
		{"of more", 101, 0, "", false},
		{"isolated blocks", 0, 2, "0002 0032 0034 0064", true},
		{"blocks in another order", 0, 2, "0034 0064 0002 0032", true},
		{"fifty blocks of one", 0, 50, block(50, "0002 0002"), true},
		{"a block fifty times", 0, 50, block(50, "0002 0064"), false},
		{"a block too long", 0, 1, "0002 ffff", false},
		{"a block within out of 2,000", 0, 2000, block(2000, "0002 0002"), false},
		{"blocks of nothing", 0, 2000, block(2000, "0002 0001"), false},
		{"blocks that are cut off", 0, 3, "0002 0002", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, _ := newInboundLink(t, Config{})
			defer l.over(t)
			var sends []byte
			for tsn := range uint32(100) {
				sends = append(sends, dataChunk(1+tsn, flagBegin|flagEnd, []byte{1})...)
			}
			if _, err := l.Write(append(make([]byte, headerLen), sends...)); err != nil {
				t.Fatal(err)
			}
			chunk := appendChunk(nil, chunkSack, 0,
				unhex(t, fmt.Sprintf("%08x 00100000 %04x 0000", tt.cum, tt.blocks)+tt.value))
			l.take(chunk, linkPeer)
			got := l.readAll(t)
			if taken := len(got) == 1 && got[0] == fmt.Sprintf("%x", chunk); taken != tt.taken {
				t.Errorf("for pion/sctp there is %q", got)
			}
			ignored := l.socket.cfg.Counters.Stats().ExcessSacks
			if cut := tt.blocks == 3; (ignored == 0) != (tt.taken || cut) {
				t.Errorf("%d are counted as ignored", ignored)
			}
		})
	}
}

func unspaced(p []byte) string { return string(bytes.ReplaceAll(p, []byte(" "), nil)) }

// TestManyChunks: of the control chunks of a packet, pion/sctp gets one of a kind, and no ERROR.
func TestManyChunks(t *testing.T) {
	l, _ := newInboundLink(t, Config{})
	defer l.over(t)
	const heartbeat, shutdown = "0400 000c 0001 0008 00000000", "0700 0008 00000000"
	packet := heartbeat + shutdown + "0900 000c 0001 0008 0002 0000"
	for range 300 {
		packet += heartbeat + "0300 0010 00000000 00100000 0000 0000"
	}
	l.take(unhex(t, packet), linkPeer)
	want := fmt.Sprintf("%x", unhex(t, heartbeat+shutdown+"0300 0010 00000000 00100000 0000 0000"))
	if got := l.readAll(t); len(got) != 1 || got[0] != want {
		t.Errorf("for pion/sctp there is %q, want %s", got, want)
	}
}

// TestCharged: the host of an association is charged for the DATA chunks of a packet. When it has
// had more than its share, nothing more of it is read before others have had theirs.
func TestCharged(t *testing.T) {
	for _, tt := range []struct {
		chunks int
		waits  bool
	}{{1, false}, {400, true}} {
		t.Run(fmt.Sprint(tt.chunks), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				busy := fair.NewProcessors(func() time.Duration {
					time.Sleep(time.Millisecond)
					return time.Second
				})
				l, _ := newInboundLink(t, Config{})
				defer l.over(t)
				l.reader = busy.Join(l.host)
				other := busy.Join(peerhost.Host{})
				defer other.Leave()
				var packet [][]byte
				for i := range tt.chunks {
					packet = append(packet, dataChunk(uint32(i+1), flagBegin|flagEnd, []byte{1}))
				}
				read := make(chan error, 1)
				go func() {
					_, err := l.Read(make([]byte, pionPacket)) // takes the DATA, and goes on
					read <- err
				}()
				l.take(slices.Concat(packet...), linkPeer)
				time.Sleep(5 * time.Millisecond) // until it is taken
				other.Charge(10)
				time.Sleep(20 * time.Millisecond)
				other.Await() // compares
				l.take(unhex(t, "0300 0010 00000000 00100000 0000 0000"), linkPeer)
				synctest.Wait()
				select {
				case err := <-read:
					if tt.waits {
						t.Errorf("read, with %v", err)
					}
				default:
					if !tt.waits {
						t.Error("the host waits")
					}
					if err := <-read; err != nil {
						t.Error(err)
					}
				}
				time.Sleep(time.Second) // until nobody is delayed
			})
		})
	}
}
