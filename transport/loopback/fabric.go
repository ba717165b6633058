package loopback

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

const provider = "loopback"

// Addr is the name of one end in a Fabric: that of a listener, or "host:port" of a dialing end.
type Addr string

// Network returns "loopback".
func (Addr) Network() string { return provider }

// String returns the name.
func (a Addr) String() string { return string(a) }

// Fabric is what listeners and dialers meet in: a space of names, and the memory
// that its endpoints share.
type Fabric struct {
	domain Domain
	names  atomic.Uint64 // names given out so far

	mu        sync.Mutex // guards what follows
	listeners map[Addr]*Listener
	observe   func(dialing, listening transport.Info) Observer
}

// Observer is told what becomes of one connection. Its methods are called one at a time, by the
// goroutine that does the work of the connection, and must not block.
type Observer interface {
	// Executed is told of a work request that was carried out for the dialing end, or for the other
	// one, while its memory still belongs to the provider: what Local refers to is what was sent or
	// read.
	Executed(forDialing bool, wr *transport.WorkRequest)

	// Ended is told that the connection has ended. Nothing follows it.
	Ended()
}

// Observe has each connection that is made from now on told to an Observer, which observe returns
// when it is called with what the two ends have as Info. It must not block.
func (f *Fabric) Observe(observe func(dialing, listening transport.Info) Observer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.observe = observe
}

// observer returns what is to be told of a connection, or nil.
func (f *Fabric) observer(dialing, listening transport.Info) Observer {
	f.mu.Lock()
	observe := f.observe
	f.mu.Unlock()
	if observe == nil {
		return nil
	}
	return observe(dialing, listening)
}

// New returns a Fabric that nobody listens in.
func New() *Fabric {
	return &Fabric{listeners: make(map[Addr]*Listener)}
}

// Domain returns the memory of every endpoint in the fabric.
func (f *Fabric) Domain() *Domain { return &f.domain }

// Listen begins to listen under the name addr, or under an unused one when addr is
// empty. A name that another listener has is ErrInUse.
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

// Dialer returns a Dialer that reaches the listeners of the fabric. It is a host of its own.
func (f *Fabric) Dialer(cfg Config) *Dialer {
	return &Dialer{fabric: f, cfg: cfg.withDefaults(), host: f.name("dialer")}
}

// find returns the listener of a name, or nil.
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

// name makes up a name that begins with what it is for.
func (f *Fabric) name(what string) Addr {
	return Addr(fmt.Sprintf("%s#%d", what, f.names.Add(1)))
}
