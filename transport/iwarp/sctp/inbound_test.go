package sctp

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

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
