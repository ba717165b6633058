package recordmark_test

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// hosts is a listener whose peers are on other hosts.
type hosts struct {
	net.Listener
	next atomic.Value // net.IP, of the next connection
}

func (l *hosts) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	port := conn.RemoteAddr().(*net.TCPAddr).Port
	return connOf{conn, &net.TCPAddr{IP: l.next.Load().(net.IP), Port: port}}, nil
}

type connOf struct {
	net.Conn
	remote net.Addr
}

func (c connOf) RemoteAddr() net.Addr { return c.remote }

// turns is a server with TLS that holds handshakes up while they have their turn.
type turns struct {
	*tlsRig
	hosts *hosts
	begun chan byte        // the host of each handshake that has its turn
	goOn  [3]chan struct{} // ends the turn of one of a host
}

func newTurns(t *testing.T) *turns {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &turns{hosts: &hosts{Listener: l}, begun: make(chan byte, 100)}
	for i := range s.goOn {
		s.goOn[i] = make(chan struct{})
	}
	s.tlsRig = newTLSRigAt(t, s.hosts, func(cfg *recordmark.Config) {
		cfg.TLS.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			host := h.Conn.RemoteAddr().(*net.TCPAddr).IP.To4()[3]
			s.begun <- host
			<-s.goOn[host]
			return nil, nil
		}
	})
	return s
}

// ask makes a connection from a host and asks for TLS.
func (s *turns) ask(host byte) rawPeer {
	s.hosts.next.Store(net.IPv4(192, 0, 2, host))
	p := s.raw()
	p.exchange(tlsCall, tlsReply)
	return p
}

// TestTLSTurns: handshakes of a host take turns, at most half of which are the host's. Silent peers
// take none, and other hosts have turns of their own.
func TestTLSTurns(t *testing.T) {
	s := newTurns(t)
	for range 10 {
		s.ask(1) // and say nothing more
		if _, err := s.ask(1).Write(unhex(t, "16030105")); err != nil {
			t.Fatal(err)
		}
	}
	cfg := s.client.Clone()
	cfg.ServerName, cfg.NextProtos = "127.0.0.1", []string{"sunrpc"}
	var all sync.WaitGroup
	greet := func(host byte) {
		p := s.ask(host)
		all.Go(func() {
			if err := tls.Client(p.Conn, cfg).Handshake(); err != nil {
				t.Errorf("host %d: %v", host, err)
			}
		})
	}
	const each, most = 10, 4
	var under [3]int
	begins := func() {
		host := hang.Receive(t, "a turn", s.begun)
		if under[host]++; under[host] > most {
			t.Errorf("%d handshakes of host %d have their turn, want %d", under[host], host, most)
		}
	}
	for range each {
		greet(1)
	}
	for range most {
		begins()
	}
	greet(2)
	begins()
	if under[2] != 1 {
		t.Error("the other host has no turn")
	}
	close(s.goOn[2])
	for range each - most {
		s.goOn[1] <- struct{}{}
		under[1]--
		begins()
	}
	close(s.goOn[1])
	all.Wait()
}
