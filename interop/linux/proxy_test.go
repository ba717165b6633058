//go:build interop

package linux

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy passes TCP connections on to a port of this machine, and cuts all of them at set points.
type proxy struct {
	listener net.Listener
	target   int
	toGuest  bool // the target is in a guest
	counts   direction
	done     chan struct{} // closed when the last cut was made
	// if not 0: when so many bytes have been counted, nothing is passed on until release
	holdAt   int64
	held     chan struct{} // closed when that is so
	released chan struct{} // closed by release
	wg       sync.WaitGroup

	mu     sync.Mutex        // guards what follows
	conns  map[net.Conn]bool // true: to the target
	ending map[net.Conn]bool // those to a guest that are not closed yet
	passed int64             // bytes that were counted
	cutAt  []int64           // when so many have, in ascending order
	cuts   int               // so far
	closed bool
}

// direction is the direction whose bytes a proxy counts.
type direction int

const (
	bothWays   direction = iota
	fromServer           // so that it cuts when a reply comes, which is lost
)

// newProxy starts a proxy that cuts when that many bytes have been counted. It ends with the test.
func newProxy(t *testing.T, target int, counts direction, cutAt ...int64) *proxy {
	t.Helper()
	return startProxy(t, &proxy{target: target, counts: counts, done: make(chan struct{}), cutAt: cutAt})
}

// newGuestProxy is newProxy to a port forwarded to a guest.
func newGuestProxy(t *testing.T, target int, counts direction, cutAt ...int64) *proxy {
	t.Helper()
	return startProxy(t, &proxy{target: target, toGuest: true, counts: counts, done: make(chan struct{}), cutAt: cutAt})
}

// newHoldingProxy starts a proxy to a port forwarded to a guest. It does not cut, but holds
// everything up when that many bytes have passed.
func newHoldingProxy(t *testing.T, target int, at int64) *proxy {
	t.Helper()
	return startProxy(t, &proxy{target: target, toGuest: true, holdAt: at, held: make(chan struct{}), released: make(chan struct{})})
}

func startProxy(t *testing.T, p *proxy) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.listener, p.conns, p.ending = l, make(map[net.Conn]bool), make(map[net.Conn]bool)
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) port() int { return port(p.listener.Addr()) }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.target))
		if err != nil { // it is being started again
			client.Close()
			continue
		}
		if !p.add(client, false) || !p.add(server, true) {
			client.Close()
			server.Close()
			return
		}
		p.wg.Go(func() { p.pass(client, server, p.counts == bothWays) })
		p.wg.Go(func() { p.pass(server, client, true) })
	}
}

// add registers a connection. If the proxy is closed, it closes the connection.
func (p *proxy) add(c net.Conn, toTarget bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
		return false
	}
	p.conns[c] = toTarget
	return true
}

// pass copies one direction.
func (p *proxy) pass(from, to net.Conn, counted bool) {
	defer p.drop(from, to)
	b := make([]byte, 4096)
	for {
		n, err := from.Read(b)
		if counted && p.cut(n) {
			return
		}
		p.hold()
		if _, werr := to.Write(b[:n]); err != nil || werr != nil {
			return
		}
	}
}

// cut counts n bytes, and reports whether to cut the connections at them. Then they are lost.
func (p *proxy) cut(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed += int64(n)
	if p.cuts == len(p.cutAt) || p.passed < p.cutAt[p.cuts] {
		return false
	}
	p.cuts++
	if p.cuts == len(p.cutAt) {
		close(p.done)
	}
	p.reset()
	return true
}

// reset resets all connections; p.mu is held.
func (p *proxy) reset() {
	for c := range p.conns {
		c.(*net.TCPConn).SetLinger(0)
		p.end(c)
	}
}

// end closes a connection once; p.mu is held. It does not reset a connection to a guest, because
// libslirp 4.7, QEMU's network, aborts if a connection is reset that holds data for the guest.
func (p *proxy) end(c net.Conn) {
	toTarget, known := p.conns[c]
	delete(p.conns, c)
	switch {
	case !known:
	case toTarget && p.toGuest && !p.closed:
		tcp := c.(*net.TCPConn)
		tcp.SetLinger(-1)
		tcp.CloseWrite()
		p.ending[c] = true
		p.wg.Go(func() {
			io.Copy(io.Discard, c)
			c.Close()
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.ending, c)
		})
	default:
		c.Close()
	}
}

// hold waits for release if everything is to be held up.
func (p *proxy) hold() {
	p.mu.Lock()
	over := p.holdAt > 0 && p.passed >= p.holdAt
	if over {
		select {
		case <-p.held:
		default:
			close(p.held)
		}
	}
	p.mu.Unlock()
	if over {
		<-p.released
	}
}

// interrupt waits until everything is held up, and resets the connections. New connections are held
// up too.
func (p *proxy) interrupt(t *testing.T) {
	t.Helper()
	select {
	case <-p.held:
	case <-time.After(silence):
		p.release()
		t.Fatalf("%d bytes did not pass in %v", p.holdAt, silence)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reset()
}

// release ends holding up, for good.
func (p *proxy) release() { close(p.released) }

// drop closes both ends of a connection.
func (p *proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.end(c)
	}
}

// wait waits until the last cut was made.
func (p *proxy) wait(t *testing.T) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(silence):
		t.Fatalf("the connections were not cut %d times in %v", len(p.cutAt), silence)
	}
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		c.Close()
	}
	for c := range p.ending {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}
