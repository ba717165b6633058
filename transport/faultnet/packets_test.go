package faultnet_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/bits"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// device is an Ethernet device in memory.
type device struct {
	in     chan []byte
	closed chan struct{}

	mu  sync.Mutex // guards what follows
	out []arrival
}

// arrival is a frame given to the device, and the time.
type arrival struct {
	frame []byte
	at    time.Time
}

func newDevice() *device {
	return &device{in: make(chan []byte, 10000), closed: make(chan struct{})}
}

func (d *device) Read(p []byte) (int, error) {
	select {
	case frame := <-d.in:
		return copy(p, frame), nil
	case <-d.closed:
		return 0, io.EOF
	}
}

func (d *device) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out = append(d.out, arrival{bytes.Clone(p), time.Now()})
	return len(p), nil
}

func (d *device) Close() error {
	close(d.closed)
	return nil
}

// came returns the frames given to the device.
func (d *device) came() []arrival {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.out)
}

// numbers returns the numbers at the beginning of the frames that have arrived.
func (d *device) numbers() (all []int) {
	for _, a := range d.came() {
		all = append(all, int(binary.BigEndian.Uint32(a.frame)))
	}
	return all
}

// frames sends n frames of 100 bytes through cfg, a millisecond apart, and returns the numbers of
// those that arrive.
func frames(t *testing.T, n int, cfg faultnet.Config) (got []int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a, b := newDevice(), newDevice()
		f := faultnet.NewFrames(a, b, cfg)
		for i := range n {
			a.in <- append(binary.BigEndian.AppendUint32(nil, uint32(i)), make([]byte, 96)...)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		got = b.numbers()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return got
}

// want returns 0 to n-1.
func want(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestPacketsUnchanged(t *testing.T) {
	if got := frames(t, 100, faultnet.Config{}); !slices.Equal(got, want(100)) {
		t.Errorf("got %v", got)
	}
	way := faultnet.Way{Delay: 3 * time.Millisecond, Jitter: 20 * time.Millisecond, Bandwidth: 1e6}
	if got := frames(t, 100, faultnet.Config{Up: way}); !slices.Equal(got, want(100)) {
		t.Errorf("with delay and jitter got %v", got)
	}
}

func TestLoss(t *testing.T) {
	var counters faultnet.Counters
	cfg := faultnet.Config{Seed: 1, Up: faultnet.Way{Loss: 0.1}, Counters: &counters}
	got := frames(t, 1000, cfg)
	if n := 1000 - len(got); n < 60 || n > 150 || int64(n) != counters.Lost.Load() {
		t.Errorf("%d of 1000 are lost, %d counted, want about 100", n, counters.Lost.Load())
	}
	if !slices.IsSorted(got) || !slices.Equal(slices.Compact(slices.Clone(got)), got) {
		t.Errorf("got %v", got)
	}
	if !slices.Equal(frames(t, 1000, cfg), got) {
		t.Error("the same seed loses others")
	}
	// Other fields of the Way do not change which packets are lost.
	cfg.Up.Jitter = time.Millisecond
	cfg.Up.Duplicate = 0.1
	if again := frames(t, 1000, cfg); !slices.Equal(slices.Compact(again), got) {
		t.Error("the same seed loses others, with other settings beside the loss")
	}
	cfg.Seed = 2
	if slices.Equal(frames(t, 1000, cfg), got) {
		t.Error("another seed loses the same")
	}
}

func TestDuplicate(t *testing.T) {
	var counters faultnet.Counters
	got := frames(t, 1000, faultnet.Config{Up: faultnet.Way{Duplicate: 0.1}, Counters: &counters})
	if n := len(got) - 1000; n < 60 || n > 150 || int64(n) != counters.Duplicated.Load() {
		t.Errorf("%d of 1000 came twice, %d counted, want about 100", n, counters.Duplicated.Load())
	}
	if !slices.Equal(slices.Compact(got), want(1000)) {
		t.Errorf("some are missing, or out of order")
	}
}

func TestReorder(t *testing.T) {
	var counters faultnet.Counters
	got := frames(t, 1000, faultnet.Config{Up: faultnet.Way{Reorder: 0.1}, Counters: &counters})
	late := 0 // packets that came after a later one
	for i, n := range got {
		if i > 0 && n < got[i-1] {
			late++
		}
	}
	if n := counters.Reordered.Load(); late < 60 || n < int64(late) || n > 150 {
		t.Errorf("%d of 1000 were overtaken, %d counted, want about 100", late, n)
	}
	if slices.Sort(got); !slices.Equal(got, want(1000)) {
		t.Error("some are missing, or came twice")
	}
	// Packets that no other overtakes arrive too.
	if got := frames(t, 3, faultnet.Config{Up: faultnet.Way{Reorder: 1}}); len(got) != 3 {
		t.Errorf("got %v, want 3 frames", got)
	}
}

// A packet waits at most 20 ms to be overtaken, even if the next packet is under way.
func TestReorderWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newDevice(), newDevice()
		f := faultnet.NewFrames(a, b, faultnet.Config{Up: faultnet.Way{Reorder: 1}})
		defer f.Close()
		began := time.Now()
		a.in <- make([]byte, 100)
		synctest.Wait()
		f.SetWay(faultnet.Up, faultnet.Way{Delay: time.Minute})
		a.in <- make([]byte, 200)
		time.Sleep(time.Hour)
		for i, want := range []time.Duration{20 * time.Millisecond, time.Minute} {
			if d := b.came()[i].at.Sub(began); d != want {
				t.Errorf("packet %d took %v, want %v", i, d, want)
			}
		}
	})
}

func TestPacketFlips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counters faultnet.Counters
		a, b := newDevice(), newDevice()
		f := faultnet.NewFrames(a, b, faultnet.Config{
			Down: faultnet.Way{Flip: 0.001}, Counters: &counters,
		})
		defer f.Close()
		for range 100 {
			b.in <- make([]byte, 1000)
			a.in <- make([]byte, 1000)
			time.Sleep(time.Millisecond)
		}
		flipped := func(d *device) (n int64) {
			for _, a := range d.came() {
				for _, v := range a.frame {
					n += int64(bits.OnesCount8(v))
				}
			}
			return n
		}
		if n := flipped(a); n < 50 || n > 200 || n != counters.Flipped.Load() {
			t.Errorf("%d bits are flipped, %d counted, want about 100", n, counters.Flipped.Load())
		}
		if n := flipped(b); n != 0 {
			t.Errorf("%d bits are flipped the other way, want 0", n)
		}
	})
}

// TestPacketTimes: the times of packets are exact, and packets that find no room are lost.
func TestPacketTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counters faultnet.Counters
		a, b := newDevice(), newDevice()
		f := faultnet.NewFrames(a, b, faultnet.Config{
			Up: faultnet.Way{
				Bandwidth: 10_000, Delay: 500 * time.Millisecond, Buffer: 3000,
			},
			Counters: &counters,
		})
		defer f.Close()
		began := time.Now()
		for range 20 { // 8 fit: 3000 bytes wait and 5000 travel
			a.in <- make([]byte, 1000)
		}
		time.Sleep(time.Minute)
		if came, not := len(b.came()), counters.Overflowed.Load(); came != 8 || not != 12 {
			t.Errorf("%d came, %d found no room, want 8 and 12", came, not)
		}
		for i, p := range b.came() {
			want := time.Duration(i+1)*100*time.Millisecond + 500*time.Millisecond
			if d := p.at.Sub(began); d != want {
				t.Errorf("packet %d took %v, want %v", i, d, want)
			}
		}
	})
}

func TestPacketsFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counters faultnet.Counters
		a, b := newDevice(), newDevice()
		f := faultnet.NewFrames(a, b, faultnet.Config{Counters: &counters})
		defer f.Close()
		f.Freeze(faultnet.Up)
		f.Freeze(faultnet.Up)
		a.in <- make([]byte, 100)
		b.in <- make([]byte, 100)
		time.Sleep(time.Hour)
		if len(a.came()) != 1 || len(b.came()) != 0 {
			t.Errorf("%d came down and %d up, want 1 and 0", len(a.came()), len(b.came()))
		}
		f.Thaw(faultnet.Up)
		synctest.Wait()
		if came, n := len(b.came()), counters.Frozen.Load(); came != 1 || n != 1 {
			t.Errorf("%d came up, %d times frozen, want 1 and 1", came, n)
		}
		f.SetWay(faultnet.Up, faultnet.Way{Loss: 1})
		a.in <- make([]byte, 100)
		synctest.Wait()
		if n := counters.Lost.Load(); n != 1 {
			t.Errorf("%d lost, want 1", n)
		}
	})
}

// TestDatagrams: datagrams of several clients reach the server, and each answer reaches its client.
func TestDatagrams(t *testing.T) {
	server, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	d, err := faultnet.NewDatagrams(server.LocalAddr().String(), faultnet.Config{
		Up: faultnet.Way{Delay: time.Millisecond}, Down: faultnet.Way{Duplicate: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	var clients []net.Conn
	for range 3 {
		c, err := net.Dial("udp", d.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
	}
	b := make([]byte, 100)
	for i, c := range clients {
		name := string(rune('a' + i))
		write(t, c, []byte(name))
		n, from, err := server.ReadFromUDPAddrPort(b)
		if err != nil || string(b[:n]) != name {
			t.Fatalf("received %q, %v, want %q", b[:n], err, name)
		}
		if _, err := server.WriteToUDPAddrPort([]byte("for "+name), from); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if n, err := c.Read(b); err != nil || string(b[:n]) != "for "+name {
				t.Errorf("client %s received %q, %v", name, b[:n], err)
			}
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := faultnet.NewDatagrams("nowhere", faultnet.Config{}); err == nil {
		t.Error("a target without a port is taken")
	}
}

// TestDatagramsLater: the target appears late. Datagrams sent after that arrive, and so does the
// answer.
func TestDatagramsLater(t *testing.T) {
	hold, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	addr := hold.LocalAddr().(*net.UDPAddr)
	hold.Close()
	var counters faultnet.Counters
	d, err := faultnet.NewDatagrams(addr.String(), faultnet.Config{Counters: &counters})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c, err := net.Dial("udp", d.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	write(t, c, []byte("lost"))
	hang.Until(t, "the kernel", func() bool { return counters.Refused.Load() > 0 })
	server, err := net.ListenUDP("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	b := make([]byte, 100)
	hang.Until(t, "a datagram", func() bool {
		write(t, c, []byte("again"))
		server.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		n, from, err := server.ReadFromUDPAddrPort(b)
		if err != nil || string(b[:n]) != "again" {
			return false
		}
		server.WriteToUDPAddrPort([]byte("answer"), from)
		return true
	})
	c.SetReadDeadline(time.Now().Add(30 * time.Second))
	if n, err := c.Read(b); string(b[:n]) != "answer" {
		t.Errorf("received %q, %v, want an answer", b[:n], err)
	}
}
