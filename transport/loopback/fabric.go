package loopback

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

const provider = "loopback"

// Addr is the name of one end in a Fabric: a listener's name, or "host:port" of a dialing end.
type Addr string

// Network returns "loopback".
func (Addr) Network() string { return provider }

// String returns the name.
func (a Addr) String() string { return string(a) }

// Fabric connects listeners and dialers. It has their names, and the memory that its endpoints
// share.
type Fabric struct {
	domain Domain
	names  atomic.Uint64 // number of names made up so far

	mu        sync.Mutex // guards what follows
	listeners map[Addr]*Listener
	observe   func(dialing, listening transport.Info) Observer
}

// Observer follows one connection. Its methods are called one at a time, on the goroutine that does
// the work of the connection. They must not block.
type Observer interface {
	// Executed is called when a work request has been carried out, for the dialing end or for the
	// listening end. Its memory still belongs to the provider: Local has what was sent or read.
	Executed(forDialing bool, wr *transport.WorkRequest)

	// Ended is called when the connection has ended. No call follows it.
	Ended()
}

// Observe calls observe for each connection that is made from now on, with the Info of both ends.
// observe returns an Observer for the connection, or nil. It must not block.
func (f *Fabric) Observe(observe func(dialing, listening transport.Info) Observer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.observe = observe
}

// observer returns the Observer of a new connection, or nil.
func (f *Fabric) observer(dialing, listening transport.Info) Observer {
	f.mu.Lock()
	observe := f.observe
	f.mu.Unlock()
	if observe == nil {
		return nil
	}
	return observe(dialing, listening)
}

// New returns a Fabric without listeners.
func New() *Fabric {
	return &Fabric{listeners: make(map[Addr]*Listener)}
}

// Domain returns the memory of every endpoint in the fabric.
func (f *Fabric) Domain() *Domain { return &f.domain }

// Listen begins to listen under the name addr. If addr is empty, it chooses an unused name. It
// fails with ErrInUse if another listener has the name.
func (f *Fabric) Listen(addr string, cfg Config) (*Listener, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := Addr(addr)
	for name == "" || addr == "" && f.listeners[name] != nil {
		name = f.name("listener")
	}
	if f.listeners[name] != nil {
		return nil, opError("listen", name, ErrInUse)
	}
	l := &Listener{
		fabric:  f,
		addr:    name,
		cfg:     cfg.withDefaults(),
		backlog: make(chan *request),
		closed:  make(chan struct{}),
	}
	f.listeners[name] = l
	return l, nil
}

// Dialer returns a Dialer for the listeners of the fabric. Each Dialer counts as a host of its own.
func (f *Fabric) Dialer(cfg Config) *Dialer {
	return &Dialer{fabric: f, cfg: cfg.withDefaults(), host: f.name("dialer")}
}

// find returns the listener with a name, or nil.
func (f *Fabric) find(name Addr) *Listener {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listeners[name]
}

// forget frees the name of l.
func (f *Fabric) forget(l *Listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listeners[l.addr] == l {
		delete(f.listeners, l.addr)
	}
}

// name makes up a name, such as "dialer#1".
func (f *Fabric) name(what string) Addr {
	return Addr(fmt.Sprintf("%s#%d", what, f.names.Add(1)))
}
