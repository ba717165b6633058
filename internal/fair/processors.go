package fair

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// Processors shares the processors of the process among the hosts whose messages it takes. Each
// connection has a Reader, and asks it before it reads from the network.
//
// Without that a bystander of a host that sends as fast as it is answered, on many connections, has
// little. Each of his messages waits behind all of theirs. And while goroutines wait for a
// processor, the runtime looks at the network every 10 ms only.
//
// Nothing is held up while there is one host, or while no goroutine waits long for a processor.
// Otherwise hosts that read more than their share stop reading: until the others have had their
// shares of the time, too, or read no more. Where the others turn out to read no faster then, it
// was no use, and the next time is put off, for up to shortest times 32.
type Processors struct {
	wait func() time.Duration // how long a goroutine that is ready waits for a processor

	known atomic.Int32 // hosts
	look  atomic.Int64 // when to look again, in ns since began
	began time.Time

	mu     sync.Mutex // guards what follows
	hosts  map[peerhost.Host]*readings
	since  time.Time     // when the hosts were compared
	period time.Duration // between looks
	held   chan struct{}
}

// ThisProcess has the processors of this process.
var ThisProcess = NewProcessors(waitForProcessor)

const (
	shortest = 5 * time.Millisecond   // period between looks
	crowded  = 200 * time.Microsecond // to wait for a processor: others wait, too
	drained  = 100 * time.Microsecond // likewise: what was read has been dealt with
	silence  = 3 * time.Millisecond   // without a reading, of hosts that have nothing to say
	longest  = 100 * time.Millisecond // that a host is held up
	memory   = 50 * time.Millisecond  // that a host counts after its last reading
	overload = 5. / 4                 // of the equal share: so much more is too much
)

// readings is what is known of a host.
type readings struct {
	conns int           // with Processors.mu
	n     atomic.Uint64 // ever
	over  atomic.Bool   // it has to wait

	// Of the last look, with Processors.mu.
	before uint64
	at     time.Time // it had read something
}

// NewProcessors returns Processors of which wait tells how long a goroutine waits for one.
func NewProcessors(wait func() time.Duration) *Processors {
	return &Processors{
		wait: wait, began: time.Now(), period: shortest, hosts: make(map[peerhost.Host]*readings),
	}
}

// waitForProcessor waits behind the goroutines that are ready.
func waitForProcessor() time.Duration {
	began := time.Now()
	runtime.Gosched()
	return time.Since(began)
}

// Reader is a connection's. The zero Reader holds nothing up.
type Reader struct {
	processors *Processors
	host       peerhost.Host
	readings   *readings
}

// Join returns the Reader of another connection of a host.
func (p *Processors) Join(h peerhost.Host) Reader {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.hosts[h]
	if r == nil {
		r = new(readings)
		p.hosts[h] = r
		p.known.Add(1)
	}
	r.conns++
	return Reader{p, h, r}
}

// Leave is called when the connection has ended.
func (r *Reader) Leave() {
	p := r.processors
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.readings.conns--; r.readings.conns == 0 {
		delete(p.hosts, r.host)
		p.known.Add(-1)
	}
}

// Await is called before the connection reads. It waits for at most 100 ms or so.
func (r *Reader) Await() {
	p := r.processors
	if p == nil || p.known.Load() < 2 {
		return
	}
	r.readings.n.Add(1)
	if r.readings.over.Load() {
		if held := p.holds(r.readings); held != nil {
			<-held
		}
		return
	}
	now := time.Since(p.began)
	look := p.look.Load()
	if int64(now) < look || !p.look.CompareAndSwap(look, int64(now+shortest)) {
		return
	}
	if p.wait() >= crowded {
		p.compare(r.readings)
	}
}

// holds returns what is closed when r may go on, or nil if it may now.
func (p *Processors) holds(r *readings) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !r.over.Load() {
		return nil
	}
	return p.held
}

// compare holds up the hosts that have read too much since it was called last, and returns when
// they may go on. That is for one of them to do.
func (p *Processors) compare(mine *readings) {
	p.mu.Lock()
	if p.held != nil {
		p.mu.Unlock()
		return
	}
	began := p.since
	over, others := p.greedy()
	p.held = make(chan struct{})
	p.mu.Unlock()
	if !mine.over.Load() {
		p.goOn(over, len(over) > 0)
		return
	}
	for held := time.Now(); p.wait() >= drained && time.Since(held) < longest; {
		// What has been read already is dealt with.
	}
	took := min(time.Since(began), longest)
	most := min(took*time.Duration(others)/time.Duration(len(over)), longest)
	p.goOn(over, p.letOthersRead(took, most))
}

// goOn ends what compare has begun, which others may have needed, and begins a new count.
func (p *Processors) goOn(over []*readings, needed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range over {
		r.over.Store(false)
	}
	for _, r := range p.hosts {
		r.before = r.n.Load()
	}
	close(p.held)
	p.held, p.since = nil, time.Now()
	if p.period = min(2*p.period, 32*shortest); needed {
		p.period = shortest
	}
	p.look.Store(int64(time.Since(p.began) + p.period))
}

// greedy returns the hosts that have read too much, and has them wait, and the number of the others
// that have read lately. mu is held.
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

// letOthersRead waits until hosts that are not held up read no more, or no faster than they did
// in the time before, or the most time has passed. It reports whether they ever read faster.
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

// othersRead returns how often hosts have read that are not held up: ever, and of this count.
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
