//go:build interop

package linux

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// wire is an Ethernet network between this machine, with a tap device, and the second card of a
// guest. It can also connect two guests. All frames are checked.
type wire struct {
	*faultnet.Frames
	card        *card // the guest's
	host, guest netip.Addr
	host6       netip.Addr
	seen        *observer
}

var wires atomic.Int32

// newWire makes a wire between this machine and a guest. It is removed when the test ends.
func newWire(t *testing.T, way faultnet.Way) *wire {
	t.Helper()
	w := unusedWire(t)
	name := fmt.Sprintf("wire%d", w.number())
	tap, err := faultnet.OpenTap(name, netip.PrefixFrom(w.host, 24))
	if err != nil {
		t.Fatalf("this takes root and /dev/net/tun: %v", err)
	}
	ip := exec.Command("ip", "-6", "addr", "add", w.host6.String()+"/64", "dev", name, "nodad")
	if out, err := ip.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", ip, err, out)
	}
	w.card = newCard(t, w.guest)
	w.join(t, tap, w.card, way)
	return w
}

// unusedWire returns a wire that only has addresses.
func unusedWire(t *testing.T) *wire {
	n := byte(wires.Add(1))
	return &wire{
		host: netip.AddrFrom4([4]byte{10, 99, n, 2}), guest: netip.AddrFrom4([4]byte{10, 99, n, 15}),
		host6: netip.MustParseAddr(fmt.Sprintf("fd00:0:0:%d::2", n)), seen: newObserver(t),
	}
}

func (w *wire) number() byte { return w.host.As4()[2] }

// guest6 returns the guest's IPv6 address. Its init derives it from the IPv4 address.
func (w *wire) guest6() string { return fmt.Sprintf("fd00:0:0:%d::15", w.number()) }

// join connects two devices. Frames are checked before anything else happens to them.
func (w *wire) join(t *testing.T, a, b io.ReadWriteCloser, way faultnet.Way) {
	way.Buffer = 4 << 20
	w.Frames = faultnet.NewFrames(watched{a, w.seen, fromHost}, watched{b, w.seen, fromGuest},
		faultnet.Config{Seed: 1, Up: way, Down: way})
	t.Cleanup(func() { w.Frames.Close() })
}

// watched is a device whose frames an observer sees.
type watched struct {
	io.ReadWriteCloser
	seen *observer
	from sender
}

func (d watched) Read(p []byte) (int, error) {
	n, err := d.ReadWriteCloser.Read(p)
	if err == nil {
		d.seen.frame(d.from, p[:n])
	}
	return n, err
}

// card is a guest's network card, as QEMU provides it: a TCP connection with frames, each preceded
// by its length. A rebooted guest connects again.
type card struct {
	addr     netip.Addr   // the guest's, there
	listener net.Listener // for QEMU
	frames   chan []byte

	mu   sync.Mutex // guards conn
	conn net.Conn   // nil if not connected
}

func newCard(t *testing.T, addr netip.Addr) *card {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &card{addr: addr, listener: l, frames: make(chan []byte)}
	go c.run()
	return c
}

func (c *card) run() {
	defer close(c.frames)
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		c.conn = conn
		c.mu.Unlock()
		for r := bufio.NewReaderSize(conn, 1<<20); ; {
			var n [4]byte
			if _, err := io.ReadFull(r, n[:]); err != nil {
				break
			}
			frame := make([]byte, binary.BigEndian.Uint32(n[:]))
			if _, err := io.ReadFull(r, frame); err != nil {
				break
			}
			c.frames <- frame
		}
		conn.Close()
	}
}

func (c *card) Read(p []byte) (int, error) {
	frame, ok := <-c.frames
	if !ok {
		return 0, net.ErrClosed
	}
	return copy(p, frame), nil
}

func (c *card) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil { // otherwise the frame is lost
		_, _ = c.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...))
	}
	return len(p), nil
}

func (c *card) Close() error {
	err := c.listener.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		c.conn.Close()
	}
	go func() {
		for range c.frames { // nobody reads them any more
		}
	}()
	return err
}
