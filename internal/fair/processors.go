package fair

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// Processors shares the process's processors among the hosts whose messages it receives. Each
// connection has a Reader and asks it before every read from the network. A socket that many hosts
// share has one for each of them, and asks that of the sender.
//
// Without this, a host with many connections that sends as fast as it is answered starves the
// others: each of their messages queues behind all of that host's. And while goroutines wait for a
// processor, the runtime polls the network only every 10 ms.
//
// Nothing is delayed while there is only one host, or while goroutines get a processor soon.
// Otherwise, hosts that read more than their share stop reading until the others have had their
// share of the time, or have nothing left to read. If the others did not read faster meanwhile, the
// delay was useless, and the next check comes later, after up to 32 times shortest.
type Processors struct {
	wait func() time.Duration // measures how long a ready goroutine waits for a processor

	known atomic.Int32 // hosts
	look  atomic.Int64 // time of the next check, in ns since began
	began time.Time

	mu     sync.Mutex // guards the fields below
	hosts  map[peerhost.Host]*readings
	gone   int           // of hosts: those without connections
	since  time.Time     // when the current count began
	period time.Duration // between checks
	held   chan struct{} // closed when the delayed hosts may go on; nil if none are
}

// ThisProcess shares the processors of this process.
var ThisProcess = NewProcessors(waitForProcessor)

const (
	shortest = 5 * time.Millisecond   // between checks
	crowded  = 200 * time.Microsecond // a wait for a processor that shows overload
	drained  = 100 * time.Microsecond // a wait that shows that pending messages are done
	silence  = 3 * time.Millisecond   // hosts that read nothing for so long have nothing to read
	longest  = 100 * time.Millisecond // delay of a host
	memory   = 50 * time.Millisecond  // a host counts as active for so long after a read
	overload = 5. / 4                 // times the equal share: a host that reads more is delayed
	mostGone = 64                     // hosts without connections whose reads are remembered
)

// readings counts the reads of a host.
type readings struct {
	conns int           // guarded by Processors.mu
	n     atomic.Uint64 // reads in total
	over  atomic.Bool   // the host must wait

	// As of the last check; guarded by Processors.mu.
	before uint64
	at     time.Time // last seen to have read something
}

// NewProcessors returns Processors that call wait to measure how long a ready goroutine waits for a
// processor.
func NewProcessors(wait func() time.Duration) *Processors {
	return &Processors{
		wait: wait, began: time.Now(), period: shortest, hosts: make(map[peerhost.Host]*readings),
	}
}

// waitForProcessor yields to the ready goroutines and returns how long that took.
func waitForProcessor() time.Duration {
	began := time.Now()
	runtime.Gosched()
	return time.Since(began)
}

// Reader belongs to one connection. The zero Reader never waits.
type Reader struct {
	processors *Processors
	readings   *readings
}

// Join returns a Reader for a new connection of a host. That of nil Processors is the zero Reader.
func (p *Processors) Join(h peerhost.Host) Reader {
	if p == nil {
		return Reader{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.hosts[h]
	if r == nil {
		r = new(readings)
		p.hosts[h] = r
		p.known.Add(1)
	} else if r.conns == 0 {
		p.gone--
	}
	r.conns++
	return Reader{p, r}
}

// Leave must be called when the connection has ended. The reads of its host count until the next
// check, or connections that come and go would cost the host nothing.
func (r *Reader) Leave() {
	p := r.processors
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.readings.conns--; r.readings.conns > 0 {
		return
	}
	if p.gone++; p.gone > mostGone {
		p.forget()
	}
}

// forget forgets the hosts without connections. mu is held.
func (p *Processors) forget() {
	for h, r := range p.hosts {
		if r.conns == 0 {
			delete(p.hosts, h)
		}
	}
	p.known.Add(int32(-p.gone))
	p.gone = 0
}

// Await must be called before each read of the connection. It waits for about 100 ms at most.
func (r *Reader) Await() {
	if held := r.Ask(); held != nil {
		<-held
	}
}

// Ask is Await for callers that read for several hosts, and must not wait. It returns nil, or a
// channel that is closed when the host may go on.
func (r *Reader) Ask() (held <-chan struct{}) {
	p := r.processors
	if p == nil || p.known.Load() < 2 {
		return nil
	}
	r.readings.n.Add(1)
	if r.readings.over.Load() {
		return p.holds(r.readings)
	}
	now := time.Since(p.began)
	look := p.look.Load()
	if int64(now) < look || !p.look.CompareAndSwap(look, int64(now+shortest)) {
		return nil
	}
	if p.wait() >= crowded {
		p.compare()
	}
	return nil
}

// Charge counts work since the last Await that costs as much as n more reads.
func (r *Reader) Charge(n int) {
	if p := r.processors; p != nil && p.known.Load() >= 2 {
		r.readings.n.Add(uint64(n))
	}
}

// holds returns a channel that is closed when r may go on, or nil if r may go on now.
func (p *Processors) holds(r *readings) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !r.over.Load() {
		return nil
	}
	return p.held
}

// compare delays the hosts that have read too much since the last check.
func (p *Processors) compare() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held != nil {
		return
	}
	began := p.since
	over, others := p.greedy()
	p.held = make(chan struct{})
	if len(over) == 0 {
		p.goOn(nil, false)
		return
	}
	go p.delay(over, others, began)
}

// delay lets the delayed hosts go on when the others have had their share of the time.
func (p *Processors) delay(over []*readings, others int, began time.Time) {
	for held := time.Now(); p.wait() >= drained && time.Since(held) < longest; {
		// Wait until pending messages have been processed.
	}
	took := min(time.Since(began), longest)
	most := min(took*time.Duration(others)/time.Duration(len(over)), longest)
	faster := p.letOthersRead(took, most)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.goOn(over, faster)
}

// goOn lets the delayed hosts go on and begins a new count. If the delay was not needed, the next
// check comes later. mu is held.
func (p *Processors) goOn(over []*readings, needed bool) {
	for _, r := range over {
		r.over.Store(false)
	}
	for _, r := range p.hosts {
		r.before = r.n.Load()
	}
	p.forget()
	close(p.held)
	p.held, p.since = nil, time.Now()
	if p.period = min(2*p.period, 32*shortest); needed {
		p.period = shortest
	}
	p.look.Store(int64(time.Since(p.began) + p.period))
}

// greedy marks and returns the hosts that have read too much. It also returns how many other hosts
// have read lately. mu is held.
func (p *Processors) greedy() (over []*readings, others int) {
	now := time.Now()
	var all uint64
	active := 0
	for _, r := range p.hosts {
		n := r.n.Load() - r.before
		if all += n; n > 0 {
			r.at = now
		}
		if now.Sub(r.at) < memory {
			active++
		}
	}
	for _, r := range p.hosts {
		n := r.n.Load()
		if float64(n-r.before)*float64(active) > overload*float64(all) {
			r.over.Store(true)
			over = append(over, r)
		}
	}
	return over, active - len(over)
}

// letOthersRead waits while the hosts that are not delayed read faster than they did in the time
// before, at most for most. It reports whether they ever did.
func (p *Processors) letOthersRead(before, most time.Duration) (faster bool) {
	began := time.Now()
	n, slow := p.othersRead()
	for first := n; time.Since(began) < most; {
		time.Sleep(silence)
		m, _ := p.othersRead()
		rate := float64(m-first) / float64(time.Since(began))
		if m == n || rate < 2*float64(slow)/float64(before) {
			break
		}
		n, faster = m, true
	}
	return faster
}

// othersRead returns how often the hosts that are not delayed have read, in total and since the
// current count began.
func (p *Processors) othersRead() (ever, counted uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.hosts {
		if !r.over.Load() {
			n := r.n.Load()
			ever, counted = ever+n, counted+n-r.before
		}
	}
	return ever, counted
}
