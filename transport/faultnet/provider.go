package faultnet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// ErrInjected: a Provider ended the connection, or refused memory. The reason for the end of a
// connection also wraps net.ErrClosed.
var ErrInjected = errors.New("ended by an injected fault")

// Work describes what a Provider does to work requests and memory. The zero Work does nothing.
// Functions panic if a duration is negative, or a probability is not from 0 to 1.
type Work struct {
	// Delay is the longest delay of a work request before the provider gets it. Hold is the longest
	// delay of its completion. Each request gets random values. Requests and completions of one
	// connection keep their order, as they must. What may change its order does: an answer may be
	// received before the Send that caused it completes, and connections overtake one another.
	Delay, Hold time.Duration

	// Flush is the probability that the connection ends before a work request. Requests ahead of it
	// complete; it and later ones are flushed.
	Flush float64

	// NoMemory is the probability that an Alloc, Import or Expose fails with
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
		panic(fmt.Sprintf("faultnet: Work has a negative field: %+v", *w))
	}
}

// ProviderConfig configures a Provider.
type ProviderConfig struct {
	// Seed is the seed of all random numbers. The same seed, and the same requests on connections
	// whose first requests come in the same order, give the same faults.
	Seed uint64

	// Work describes the faults at first.
	Work Work

	// Counters, if not nil, counts the faults.
	Counters *Counters
}

// Provider wraps a provider of package transport and adds faults. Its methods may be called
// concurrently.
type Provider struct {
	seed   uint64
	faults *Counters

	mu      sync.Mutex // guards what follows
	work    Work
	memory  *rand.Rand // decides when to refuse memory
	domains map[transport.Domain]transport.Domain
	working int // number of endpoints that requests were posted to
}

// NewProvider returns a Provider.
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

// Listener returns a listener like l, with faults on its connections.
func (p *Provider) Listener(l transport.Listener) transport.Listener {
	return transport.WrapListener(l, p.wrap)
}

// Dialer returns a dialer like d, with faults on its connections.
func (p *Provider) Dialer(d transport.Dialer) transport.Dialer {
	return transport.WrapDialer(d, p.wrap)
}

// SetWork changes the faults of all connections from now on.
func (p *Provider) SetWork(w Work) {
	w.check()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.work = w
}

func (p *Provider) wrap(below transport.Endpoint) transport.Endpoint {
	p.mu.Lock()
	domain := p.domain(below.Domain())
	p.mu.Unlock()
	e := &endpoint{
		Endpoint: below,
		provider: p,
		domain:   domain,
		woken:    make(chan struct{}, 1),
		done:     make(chan struct{}),
	}
	go e.run()
	if poller, ok := transport.As[transport.Poller](below); ok {
		return pollingEndpoint{e, poller}
	}
	return e
}

// begin returns what Work is now, and the random numbers of an endpoint if it has none yet.
func (p *Provider) begin(random *rand.Rand) (Work, *rand.Rand) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if random == nil {
		random = source(p.seed, p.working, Up, forWork)
		p.working++
	}
	return p.work, random
}

// domain returns the wrapper of a Domain; p.mu is held. It is always the same one, because upper
// layers have a pool for each Domain.
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

// refuse returns an error if memory is to be refused now.
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
