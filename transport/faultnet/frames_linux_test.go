package faultnet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// host is a network namespace with one device.
type host struct {
	*faultnet.Namespace
	tap  *faultnet.Tap
	addr string
}

func newHost(t *testing.T, addr string) host {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to make network namespaces and devices")
	}
	n, err := faultnet.NewNamespace()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	h := host{Namespace: n, addr: addr}
	prefix := netip.PrefixFrom(netip.MustParseAddr(addr), 24)
	n.Do(func() { h.tap, err = faultnet.OpenTap("tap0", prefix) })
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// listen listens at a port of the host.
func (h host) listen(t *testing.T) net.Listener {
	t.Helper()
	var l net.Listener
	var err error
	h.Do(func() { l, err = net.Listen("tcp4", h.addr+":2049") })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// dial connects to the port of another host.
func (h host) dial(t *testing.T, to host) *net.TCPConn {
	t.Helper()
	var c net.Conn
	var err error
	h.Do(func() { c, err = net.DialTimeout("tcp4", to.addr+":2049", 30*time.Second) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// TestFrames: two hosts speak TCP while frames are lost, duplicated, reordered and damaged. The
// bytes arrive as they were sent.
func TestFrames(t *testing.T) {
	a, b := newHost(t, "10.77.0.1"), newHost(t, "10.77.0.2")
	var counters faultnet.Counters
	way := faultnet.Way{
		Bandwidth: 50e6, Delay: 100 * time.Microsecond,
		Loss: 0.01, Duplicate: 0.01, Reorder: 0.01, Flip: 1e-5, // about 20 bytes of 2 MiB
	}
	f := faultnet.NewFrames(a.tap, b.tap, faultnet.Config{
		Seed: 1, Up: way, Down: way, Counters: &counters,
	})
	defer f.Close()
	l := b.listen(t)
	dialing := a.dial(t, b)
	listening, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer listening.Close()
	if host, _, _ := net.SplitHostPort(listening.RemoteAddr().String()); host != a.addr {
		t.Errorf("the peer is %v, want %v", host, a.addr)
	}
	p := pattern(2 << 20)
	go func() {
		dialing.Write(p)
		dialing.CloseWrite()
	}()
	got, err := io.ReadAll(listening)
	if err != nil || !bytes.Equal(got, p) {
		t.Errorf("%d bytes of %d arrived, %v", len(got), len(p), err)
	}
	for name, n := range map[string]int64{
		"lost": counters.Lost.Load(), "duplicated": counters.Duplicated.Load(),
		"overtaken": counters.Reordered.Load(), "flipped": counters.Flipped.Load(),
	} {
		if n == 0 {
			t.Errorf("none was %s", name)
		}
	}
}

// tapped is a device that keeps copies of the frames it is given.
type tapped struct {
	io.ReadWriteCloser
	mu     sync.Mutex // guards frames
	frames [][]byte
}

func (d *tapped) Write(p []byte) (int, error) {
	d.mu.Lock()
	d.frames = append(d.frames, bytes.Clone(p))
	d.mu.Unlock()
	return d.ReadWriteCloser.Write(p)
}

// TestFramesUnchanged checks that frames have the hosts' addresses and correct checksums.
func TestFramesUnchanged(t *testing.T) {
	a, b := newHost(t, "10.77.1.1"), newHost(t, "10.77.1.2")
	seen := &tapped{ReadWriteCloser: b.tap}
	f := faultnet.NewFrames(a.tap, seen, faultnet.Config{})
	defer f.Close()
	// Nothing listens there: b's kernel refuses.
	var err error
	a.Do(func() { _, err = net.DialTimeout("tcp4", b.addr+":2049", 30*time.Second) })
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("Dial: %v, want %v", err, syscall.ECONNREFUSED)
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	found := 0
	for _, p := range seen.frames {
		const ethernet = 14
		if len(p) < ethernet+40 || binary.BigEndian.Uint16(p[12:]) != 0x0800 || p[ethernet+9] != 6 {
			continue // not TCP over IPv4
		}
		found++
		ip := p[ethernet:]
		from, _ := netip.AddrFromSlice(ip[12:16])
		to, _ := netip.AddrFromSlice(ip[16:20])
		if from.String() != a.addr || to.String() != b.addr {
			t.Errorf("a packet from %v to %v, want %v to %v", from, to, a.addr, b.addr)
		}
		if sum := checksum(ip[:20]); sum != 0xffff {
			t.Errorf("the header adds up to %#x, want 0xffff", sum)
		}
		tcp := ip[20:binary.BigEndian.Uint16(ip[2:])]
		pseudo := append(bytes.Clone(ip[12:20]), 0, 6, byte(len(tcp)>>8), byte(len(tcp)))
		if sum := checksum(append(pseudo, tcp...)); sum != 0xffff {
			t.Errorf("the segment adds up to %#x, want 0xffff", sum)
		}
	}
	if found == 0 {
		t.Errorf("none of %d frames is of TCP", len(seen.frames))
	}
}

// checksum is the sum of RFC 1071 section 1.
func checksum(p []byte) uint32 {
	var sum uint32
	for i, v := range p {
		if i%2 == 0 {
			sum += uint32(v) << 8
		} else {
			sum += uint32(v)
		}
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return sum
}
