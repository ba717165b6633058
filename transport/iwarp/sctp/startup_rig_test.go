package sctp

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// wire is a packetConn at whose other end a test is.
type wire struct {
	in   chan datagram
	over chan struct{} // closed by Close

	mu   sync.Mutex // guards what follows
	sent []datagram
}

type datagram struct {
	p  []byte
	by path
}

func newWire() *wire { return &wire{in: make(chan datagram), over: make(chan struct{})} }

func (w *wire) receive(p []byte) (int, path, error) {
	select {
	case d := <-w.in:
		return copy(p, d.p), d.by, nil
	case <-w.over:
		return 0, path{}, net.ErrClosed
	}
}

func (w *wire) send(p []byte, to path) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, datagram{append([]byte(nil), p...), to})
	return nil
}

func (w *wire) LocalAddr() net.Addr {
	return net.UDPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.2:9899"))
}

func (w *wire) Close() error {
	close(w.over)
	return nil
}

// heard waits until all goroutines are idle. It returns and forgets what has been sent.
func (w *wire) heard() []datagram {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.sent
	w.sent = nil
	return sent
}

// station is an SCTP stack with one port that talks to another, the far side, with one port. A test
// writes its packets by hand, in a bubble.
type station struct {
	t         *testing.T
	wire      *wire
	l         *Listener // the far side, or nil
	from      path
	port, far uint16

	// The association that this side takes for the living one, which up sets.
	tag    uint32 // of this side
	tsn    uint32 // the next of this side
	theirs initiation
	stream uint16 // the next to ask for a session on
}

// newStation returns a station at linkPeer with port 1, and a Listener with port 2. Both end with
// the test.
func newStation(t *testing.T, cfg Config) *station {
	t.Helper()
	cfg.KeepAlive, cfg.Logger = time.Hour, slog.New(slog.DiscardHandler)
	c, err := cfg.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	w := newWire()
	p := &station{t: t, wire: w, l: newListener(c, w, 2), from: linkPeer, port: 1, far: 2}
	t.Cleanup(func() {
		p.l.Close()
		p.l.mu.Lock()
		var all []*association
		for a := range p.l.all {
			all = append(all, a)
		}
		p.l.mu.Unlock()
		for _, a := range all {
			a.lower.Abort("")
		}
		<-p.l.socket.done
	})
	return p
}

// another returns a station at another address.
func (p *station) another(addr string) *station {
	other := *p
	other.from.peer = netip.MustParseAddrPort(addr)
	return &other
}

// says sends a packet with chunks in hexadecimal digits.
func (p *station) says(tag uint32, chunks string) {
	p.t.Helper()
	h := header{src: p.port, dst: p.far, tag: tag}
	p.wire.in <- datagram{seal(append(h.append(nil), unhex(p.t, chunks)...)), p.from}
}

// hears waits until all goroutines are idle, and compares the packets that have been sent: each is
// "tag: chunks" in hexadecimal digits.
func (p *station) hears(want ...string) {
	p.t.Helper()
	var got []string
	for _, d := range p.wire.heard() {
		h, ok := parseHeader(d.p)
		if !ok || h.src != p.far || h.dst != p.port || d.by != p.from {
			p.t.Errorf("%x is sent to %v", d.p, d.by)
		}
		got = append(got, fmt.Sprintf("%08x: %x", h.tag, d.p[headerLen:]))
	}
	if d := cmp.Diff(want, got); d != "" {
		p.t.Fatalf("sent (-want +got):\n%s", d)
	}
}

// initValue is the value of an INIT of a station, with a tag and a TSN.
const initValue = "%08[1]x 00100000 0100 0100 %08[1]x c006 0008 00000001"

// saysInit sends an INIT with a tag.
func (p *station) saysInit(tag uint32) {
	p.t.Helper()
	p.says(0, fmt.Sprintf("01 00 001c"+initValue, tag))
}

// init sends an INIT with a tag, and returns the INIT ACK.
func (p *station) init(tag uint32) initiation {
	p.t.Helper()
	p.saysInit(tag)
	return p.initiation(chunkInitAck, tag)
}

// initiation waits for a packet with an INIT or INIT ACK, and returns its content.
func (p *station) initiation(want chunkType, tag uint32) initiation {
	p.t.Helper()
	i, err := parseInitiation(p.hearsChunk(want, tag).value())
	if err != nil {
		p.t.Fatal(err)
	}
	return i
}

// hearsChunk waits until all goroutines are idle. It returns the one chunk that has been sent.
func (p *station) hearsChunk(want chunkType, tag uint32) chunk {
	p.t.Helper()
	sent := p.wire.heard()
	if len(sent) != 1 {
		p.t.Fatalf("%d packets are sent, want one", len(sent))
	}
	h, ok := parseHeader(sent[0].p)
	c, rest := nextChunk(sent[0].p[headerLen:])
	if !ok || h != (header{src: p.far, dst: p.port, tag: tag}) || !c.is(want) || len(rest) > 0 {
		p.t.Fatalf("sent %x, want a chunk of type %d with tag %08x", sent[0].p, want, tag)
	}
	return c
}

// echo returns the cookie of an INIT ACK.
func (p *station) echo(ack initiation) {
	p.t.Helper()
	p.says(ack.tag, fmt.Sprintf("%x", appendChunk(nil, chunkCookieEcho, 0, ack.cookie)))
}

// up makes an association with an INIT with a tag, and returns the INIT ACK.
func (p *station) up(tag uint32) initiation {
	p.t.Helper()
	ack := p.init(tag)
	p.upWith(tag, ack)
	return ack
}

// upWith is up with an INIT ACK that has come before.
func (p *station) upWith(tag uint32, ack initiation) {
	p.t.Helper()
	p.echo(ack)
	p.hears(fmt.Sprintf("%08x: 0b000004", tag))
	p.tag, p.tsn, p.theirs, p.stream = tag, tag, ack, 0
}

// carries checks that the living association carries messages in both directions: it begins a
// session on it.
func (p *station) carries() *Conn {
	p.t.Helper()
	stream := p.stream
	p.stream++
	p.says(p.theirs.tag, fmt.Sprintf("00 0f 0014 %08x %04x 0000 00000011 0000 0001", p.tsn, stream))
	sack := p.hearsChunk(chunkSack, p.tag)
	if got := binary.BigEndian.Uint32(sack.value()); got != p.tsn {
		p.t.Fatalf("TSN %08x is acknowledged, want %08x", got, p.tsn)
	}
	p.tsn++
	var conn *Conn
	select {
	case conn = <-p.l.ready:
	default:
		p.t.Fatal("there is no session")
	}
	readFrame(p.t, conn, false)
	if err := conn.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
		p.t.Fatal(err)
	}
	p.hears(fmt.Sprintf("%08x: 000f0014%08x%04x00000000001100000002", p.tag, p.theirs.tsn, stream))
	p.says(p.theirs.tag, fmt.Sprintf("03 00 0010 %08x 00100000 0000 0000", p.theirs.tsn))
	p.theirs.tsn++
	p.hears()
	return conn
}

// aborts ends the living association.
func (p *station) aborts() {
	p.t.Helper()
	p.says(p.theirs.tag, "06 00 0004")
	p.hears()
}
