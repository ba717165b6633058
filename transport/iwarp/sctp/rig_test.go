package sctp

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

// nowhere is a packetConn that drops all packets.
type nowhere struct{}

func (nowhere) receive([]byte) (int, path, error) { return 0, path{}, net.ErrClosed }
func (nowhere) send([]byte, path) error           { return nil }
func (nowhere) LocalAddr() net.Addr               { return &net.UDPAddr{} }
func (nowhere) Close() error                      { return nil }

// peer is the other side of an association. Tests write its messages by hand.
type peer struct {
	t       testing.TB
	cfg     *Config
	a       *association
	offered chan *Conn

	in      chan lower.Message // for Receive
	tsn     uint32
	aborted chan struct{}
	once    sync.Once

	mu   sync.Mutex // guards what follows
	sent []string   // "stream ppid: hex"
	owed int        // unacknowledged bytes of all streams
	owes bool       // data sent from now on is not acknowledged
	low  func()
}

// newPeer returns the peer of an association that it has made; with active, that this side has
// made.
func newPeer(t testing.TB, cfg Config, active bool) *peer {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	c, err := cfg.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{
		t: t, cfg: c, offered: make(chan *Conn, 1),
		in: make(chan lower.Message), aborted: make(chan struct{}),
	}
	offer := func(c *Conn) bool {
		select {
		case p.offered <- c:
			return true
		default:
			return false
		}
	}
	if active {
		offer = nil
	}
	p.a = newAssociation(c, (*fakeAssociation)(p), Addr{}, Addr{}, offer, nil)
	t.Cleanup(func() {
		(*fakeAssociation)(p).Abort("")
		<-p.a.over
	})
	return p
}

// says receives a message from the peer, given in hexadecimal digits.
func (p *peer) says(stream uint16, ppid uint32, message string) {
	p.t.Helper()
	p.tsn++
	m := lower.Message{
		Stream: stream, PPID: ppid, Unordered: true, First: p.tsn, Last: p.tsn,
		Data: unhex(p.t, message),
	}
	p.saysMessage(m)
}

func (p *peer) saysMessage(m lower.Message) {
	p.t.Helper()
	select {
	case p.in <- m:
	case <-p.aborted:
		p.t.Fatal("the association has ended")
	}
}

// heard returns and forgets what has been sent so far.
func (p *peer) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := p.sent
	p.sent = nil
	return sent
}

// fakeAssociation presents a peer to the sessions as an association.
type fakeAssociation peer

var _ lower.Association = (*fakeAssociation)(nil)

func (f *fakeAssociation) Streams() int     { return 4 }
func (f *fakeAssociation) FirstTSN() uint32 { return 1 }
func (f *fakeAssociation) MaxMessage() int  { return 1000 }

func (f *fakeAssociation) Send(stream uint16, ppid uint32, p []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, fmt.Sprintf("%d %d: %x", stream, ppid, p))
	if f.owes {
		f.owed += len(p)
	}
	return nil
}

func (f *fakeAssociation) Unacknowledged(uint16) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.owed
}

func (f *fakeAssociation) Acknowledged(_ uint16, _ int, low func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.low = low
}

func (f *fakeAssociation) Receive([]byte) (lower.Message, error) {
	select {
	case m := <-f.in:
		return m, nil
	case <-f.aborted:
		return lower.Message{}, io.EOF
	}
}

func (f *fakeAssociation) Watch(done <-chan struct{}) { <-done }
func (f *fakeAssociation) Shutdown()                  { f.Abort("") }
func (f *fakeAssociation) Abort(string)               { f.once.Do(func() { close(f.aborted) }) }

// listOf is a scatter list.
func listOf(s string) []transport.Slice { return []transport.Slice{{Bytes: []byte(s)}} }
