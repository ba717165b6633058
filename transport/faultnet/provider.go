package faultnet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// ErrInjected is why a connection ends that a Provider ends. That is a net.ErrClosed, too.
var ErrInjected = errors.New("ended by an injected fault")

// Work is what a Provider does to work requests and memory. The zero Work does nothing. One with a
// negative duration, or a probability that is not from 0 to 1, makes the function that takes it
// panic.
type Work struct {
	// Delay is the most by which a work request is delayed before the provider gets it, and Hold
	// the most by which its completion is held back. Each is drawn anew for each request. Requests
	// and completions keep their order, as they must. But what may come in any order does: a
	// message is received before the Send that it answers completes, and connections overtake one
	// another.
	Delay, Hold time.Duration

	// Flush is the probability of each work request that the connection ends before it. Those ahead
	// complete; it and those behind are flushed.
	Flush float64

	// NoMemory is the probability of each Alloc, Import and Expose that it fails with
	// transport.ErrNoMemory.
	NoMemory float64
}

func (w *Work) check() {
	for name, v := range map[string]float64{"Flush": w.Flush, "NoMemory": w.NoMemory} {
		if !(v >= 0 && v <= 1) {
			panic(fmt.Sprintf("faultnet: Work.%s is %v, want 0 to 1", name, v))
		}
	}
	if min(w.Delay, w.Hold) < 0 {
		panic(fmt.Sprintf("faultnet: a Work has something below zero: %+v", *w))
	}
}

// ProviderConfig is what a Provider is like.
type ProviderConfig struct {
	// Seed is where all random numbers come from: the same seed and the same requests on the same
	// connections, in the order in which these were made, give the same faults.
	Seed uint64

	// Work is what is done to requests at first.
	Work Work

	// Counters, if not nil, counts the faults.
	Counters *Counters
}

// Provider wraps a provider of RDMA, and adds faults to it. Its methods may be called concurrently.
type Provider struct {
	seed   uint64
	faults *Counters

	mu      sync.Mutex // guards what follows
	work    Work
	memory  *rand.Rand // for refusals
	domains map[transport.Domain]transport.Domain
	made    int // endpoints
}

// NewProvider returns a Provider for the listeners and dialers that it is given.
func NewProvider(cfg ProviderConfig) *Provider {
	cfg.Work.check()
	network := Config{Counters: cfg.Counters}
	return &Provider{
		seed:    cfg.Seed,
		faults:  network.counters(),
		work:    cfg.Work,
		memory:  source(cfg.Seed, 0, Up, forMemory),
		domains: make(map[transport.Domain]transport.Domain),
	}
}

// Listener returns l with faults on its connections.
func (p *Provider) Listener(l transport.Listener) transport.Listener {
	return transport.WrapListener(l, p.wrap)
}

// Dialer returns d with faults on its connections.
func (p *Provider) Dialer(d transport.Dialer) transport.Dialer {
	return transport.WrapDialer(d, p.wrap)
}

// SetWork has w done from now on, on all connections.
func (p *Provider) SetWork(w Work) {
	w.check()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.work = w
}

func (p *Provider) wrap(below transport.Endpoint) transport.Endpoint {
	p.mu.Lock()
	number := p.made
	p.made++
	domain := p.domain(below.Domain())
	p.mu.Unlock()
	e := &endpoint{
		Endpoint: below,
		provider: p,
		domain:   domain,
		random:   source(p.seed, number, Up, forWork),
		woken:    make(chan struct{}, 1),
		done:     make(chan struct{}),
	}
	go e.run()
	if poller, ok := transport.As[transport.Poller](below); ok {
		return pollingEndpoint{e, poller}
	}
	return e
}

// domain returns the one that wraps below; p.mu is held. There is one for each, as those who keep
// pools go by it.
func (p *Provider) domain(below transport.Domain) transport.Domain {
	if d := p.domains[below]; d != nil {
		return d
	}
	var d transport.Domain = &domain{below, p}
	if importer, ok := below.(transport.Importer); ok {
		d = &importingDomain{domain{below, p}, importer}
	}
	p.domains[below] = d
	return d
}

// refuse returns the error with which memory is refused now, or nil.
func (p *Provider) refuse(op string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.memory.Float64() >= p.work.NoMemory {
		return nil
	}
	p.faults.NoMemory.Add(1)
	err := fmt.Errorf("%w: %w", ErrInjected, transport.ErrNoMemory)
	return &transport.OpError{Op: op, Provider: "faultnet", Err: err}
}

type domain struct {
	transport.Domain
	provider *Provider
}

// Alloc implements transport.Domain.
func (d *domain) Alloc(n int, access transport.Access) (transport.Slice, error) {
	if err := d.provider.refuse("alloc"); err != nil {
		return transport.Slice{}, err
	}
	return d.Domain.Alloc(n, access)
}

type importingDomain struct {
	domain
	transport.Importer
}

// Import implements transport.Importer.
func (d *importingDomain) Import(p []byte, access transport.Access) (transport.Slice, error) {
	if err := d.provider.refuse("import"); err != nil {
		return transport.Slice{}, err
	}
	return d.Importer.Import(p, access)
}

// closedError is what fails with after the end of the connection for the reason err.
func closedError(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", net.ErrClosed, err)
}
