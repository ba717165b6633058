package oncrpc

import (
	"io"
	"net"
	"unique"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// Dispatcher is a Server as transports see it: what brings connections and calls to it. Programs
// have no use for it.
type Dispatcher struct {
	s    *Server
	host hostID // of the peer, if it is known
}

// DispatcherOf returns the transports' side of a server.
func DispatcherOf(s *Server) Dispatcher {
	s.init()
	return Dispatcher{s: s}
}

// For returns the dispatcher for the calls of a peer, whose host has its share of the handlers that
// run (ServerConfig.MaxConcurrent). All others count as of one host.
func (d Dispatcher) For(peer net.Addr) Dispatcher {
	return Dispatcher{d.s, unique.Make(peerhost.Of(peer))}
}

// ConnInfo is a connection that a server is asked to admit.
type ConnInfo struct {
	Provider      string // "tcp", or transport.Info.Provider: "iwarp", "loopback"
	Local, Remote net.Addr
}

// Host returns the host of Remote, an IP address or else a name: that by which a client is known
// again, as for Procedure.Once, when it comes from another port.
func (c ConnInfo) Host() string { return peerhost.Of(c.Remote).String() }

// Admit asks whether a connection may be made: ServerConfig.Admit first, then whether there is a
// place for it (ErrTooManyConns). A Serve function calls it for each one that it accepts, before it
// gives it memory, and calls release once when the connection has ended or could not be made.
func (d Dispatcher) Admit(c ConnInfo) (release func(), err error) {
	s, ended := d.s, func() {}
	if admit := s.cfg.Admit; admit != nil {
		switch f, err := admit(c); {
		case err != nil:
			s.stats.refused.Add(1)
			return nil, err
		case f != nil:
			ended = f
		}
	}
	host := peerhost.Of(c.Remote)
	if !s.places.Take(host, 1) {
		ended()
		s.stats.tooMany.Add(1)
		s.faults.Fault(c.Remote, "rpc: connection refused", nil, "err", ErrTooManyConns)
		return nil, ErrTooManyConns
	}
	return func() {
		s.places.Give(host, 1)
		ended()
	}, nil
}

// Dispatch executes a call. It is called on the goroutine that received the call, and returns when
// a non-blocking handler has run, or at once.
func (d Dispatcher) Dispatch(in IncomingCall) { d.s.dispatch(in, d.host) }

// AddListener registers a listener, which Shutdown closes first. It fails with ErrServerClosed
// after that. The function it returns takes it back.
func (d Dispatcher) AddListener(l io.Closer) (remove func(), err error) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrServerClosed
	}
	s.listeners[&l] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, &l)
	}, nil
}

// AddConn registers a connection whose calls the server is to answer. Shutdown closes it when the
// calls under way are answered. With drain, which begins an end that loses no replies on their way
// to the peer and returns at once, it calls that first and waits for t.Done; Close closes it all
// the same. It fails with ErrServerClosed after Shutdown or Close.
//
// The function it returns takes the connection back: it has ended, and t.Err says why, or the
// server is not to serve it any more. It is called once, holding no lock that t.Err takes.
func (d Dispatcher) AddConn(t Transport, drain func()) (remove func(), err error) {
	s := d.s
	c := &serverConn{t, drain}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrServerClosed
	}
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	if began := s.cfg.ConnBegan; began != nil {
		began(t)
	}
	return func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		if ended := s.cfg.ConnEnded; ended != nil {
			ended(t, t.Err())
		}
	}, nil
}

// serverConn is a connection that a server serves.
type serverConn struct {
	Transport
	drain func() // may be nil
}
