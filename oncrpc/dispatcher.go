package oncrpc

import (
	"io"
	"net"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// Dispatcher is a Server as transports see it: they pass connections and calls to it. Programs do
// not need it.
type Dispatcher struct {
	s      *Server
	origin *Origin
}

// DispatcherOf returns the dispatcher of a server.
func DispatcherOf(s *Server) Dispatcher {
	s.init()
	return Dispatcher{s, &s.nowhere}
}

// For returns the dispatcher for the calls of a connection to peer, which becomes their Origin. Its
// host gets its share of the running handlers (ServerConfig.MaxConcurrent). Calls dispatched
// without For count as calls of a single connection.
func (d Dispatcher) For(peer net.Addr) Dispatcher {
	return Dispatcher{d.s, newOrigin(peer, d.s.origins.Add(1))}
}

// As returns the dispatcher for the further calls of a connection whose peer has proved a name.
func (d Dispatcher) As(principal string) Dispatcher {
	o := &Origin{host: d.origin.host, port: d.origin.port, principal: principal, number: d.origin.number}
	o.credits.Store(d.origin.credits.Load())
	return Dispatcher{d.s, o}
}

// Granted notes that the peer may have n calls under way. A transport with credits calls it before
// the first call, and for each grant, so that the server knows which replies the peer has got. The
// transport must carry calls and replies in order.
func (d Dispatcher) Granted(n uint32) { d.origin.granted(n) }

// ConnInfo describes a connection that asks for admission to a server.
type ConnInfo struct {
	Provider      string // "tcp", or transport.Info.Provider: "iwarp", "loopback"
	Local, Remote net.Addr
}

// Host returns the host of Remote: an IP address or else a name. It identifies a client that
// returns from another port, for example for Procedure.Once.
func (c ConnInfo) Host() string { return peerhost.Of(c.Remote).String() }

// Admit decides whether a connection is accepted. It asks ServerConfig.Admit, then checks
// ServerConfig.MaxConns (ErrTooManyConns). A Serve function calls it for each connection, before
// the connection gets any memory. It calls release once, when the connection has ended or could not
// be set up.
func (d Dispatcher) Admit(c ConnInfo) (release func(), err error) {
	s, ended := d.s, func() {}
	if admit := s.cfg.Admit; admit != nil {
		switch f, err := admit(c); {
		case err != nil:
			atomic.AddUint64(&s.stats.Refused, 1)
			return nil, err
		case f != nil:
			ended = f
		}
	}
	host := peerhost.Of(c.Remote)
	if !s.places.Take(host, 1) {
		ended()
		atomic.AddUint64(&s.stats.TooMany, 1)
		s.faults.Fault(c.Remote, "rpc: connection refused", nil, "err", ErrTooManyConns)
		return nil, ErrTooManyConns
	}
	return func() {
		s.places.Give(host, 1)
		ended()
	}, nil
}

// Dispatch executes a call. Transports call it on the goroutine that received the call. It runs a
// non-blocking handler before it returns, and hands any other to a worker.
func (d Dispatcher) Dispatch(in IncomingCall) {
	d.origin.received.Add(1)
	d.s.dispatch(in, d.origin)
}

// AddListener registers a listener for Shutdown to close. It fails with ErrServerClosed after
// Shutdown or Close. Calling remove unregisters the listener.
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

// AddConn registers a connection whose calls the server answers. Shutdown closes the connection
// once the pending calls are answered. If drain is not nil, Shutdown first calls it and waits for
// t.Done. drain must return at once, and begin to end the connection without losing replies on
// their way to the peer. Server.Close does not wait for that. AddConn fails with ErrServerClosed
// after Shutdown or Close.
//
// Calling remove unregisters the connection, because it has ended (t.Err says why) or the server is
// to serve it no longer. Call remove once, without holding a lock that t.Err takes.
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

// serverConn is a connection registered with a server.
type serverConn struct {
	Transport
	drain func() // may be nil
}
