package faultnet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// End is one of the two ends of a connection.
type End int

// The ends. DialingEnd sends Up, and ListeningEnd sends Down.
const (
	DialingEnd End = iota
	ListeningEnd
)

// sends is the direction in which e sends.
func (e End) sends() Direction { return Direction(e) }

// receives is the direction from which e receives.
func (e End) receives() Direction { return 1 - Direction(e) }

// Ending is how a stream ends.
type Ending int

// The endings.
const (
	FIN     Ending = 1 // in order: Read returns io.EOF
	closing Ending = 2 // a FIN of an end that receives nothing any more
	RST     Ending = 3 // a reset: Read returns syscall.ECONNRESET
)

// Link is one connection of streams. Its methods may be called at any time, also concurrently. They
// do not block.
type Link struct {
	number int
	faults *Counters

	mu      sync.Mutex // guards what follows
	changed chan struct{}
	flows   [2]flow // by Direction
	ends    [2]struct {
		gone                        error // the error of Read and Write; nil: the end is open
		readDeadline, writeDeadline time.Time
	}
}

// flow is one direction of a Link.
type flow struct {
	way      Way
	clock    clock
	flips    flipper
	segments []segment // under way, in order
	held     int       // bytes of segments
	passed   int64     // bytes that have been read
	frozen   bool
	freezeAt int64 // the value of passed at which to freeze it; below 0: never
	cutAt    int64 // the value of passed at which to cut the connection; below 0: never
	cutBy    Ending
	end      Ending    // what follows the segments
	endAt    time.Time // when that arrives
	lost     bool      // what arrives is lost, because the receiver has closed
}

type segment struct {
	data []byte
	at   time.Time // when it arrives
}

// arrived reports whether something that arrives at that time is there now.
func (f *flow) arrived(at, now time.Time) bool { return !f.frozen && !at.After(now) }

// ended reports whether the end has arrived, even if bytes before it have not been read.
func (f *flow) ended(now time.Time) bool { return f.end != 0 && f.arrived(f.endAt, now) }

// drop drops what is under way.
func (f *flow) drop() { f.segments, f.held = nil, 0 }

// dropArrived drops what has arrived.
func (f *flow) dropArrived(now time.Time) {
	for len(f.segments) > 0 && f.arrived(f.segments[0].at, now) {
		f.held -= len(f.segments[0].data)
		f.pop()
	}
}

// pop removes the oldest segment and its data.
func (f *flow) pop() {
	f.segments[0] = segment{}
	f.segments = f.segments[1:]
}

func newLink(number int, cfg *Config, faults *Counters) *Link {
	l := &Link{number: number, faults: faults, changed: make(chan struct{})}
	for d, way := range cfg.ways(true) {
		l.flows[d] = flow{
			way:      way,
			clock:    clock{jitter: source(cfg.Seed, number, Direction(d), forJitter)},
			flips:    flipper{rnd: source(cfg.Seed, number, Direction(d), forFlips)},
			freezeAt: -1,
			cutAt:    -1,
		}
	}
	return l
}

// announce calls Config.OnLink.
func (l *Link) announce(cfg *Config) {
	if cfg.OnLink != nil {
		cfg.OnLink(l)
	}
}

// Number returns how many connections the network had before this one.
func (l *Link) Number() int { return l.number }

// Bytes returns how many bytes have passed in a direction, and how many are under way.
func (l *Link) Bytes(d Direction) (passed, underWay int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flows[d].passed, int64(l.flows[d].held)
}

// SetWay sets the Way of a direction, for what is sent from now on.
func (l *Link) SetWay(d Direction, w Way) {
	w.check(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flows[d].way = w
	l.change()
}

// Freeze stops arrival in directions until Thaw. What is sent meanwhile waits, as does the end of
// the stream. So a connection can be replaced while it is frozen. After Thaw the receiver gets what
// was sent on it, later than what was sent on the new one.
func (l *Link) Freeze(ds ...Direction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range ds {
		l.freeze(&l.flows[d])
	}
}

// FreezeAt freezes a direction when n bytes have passed there since the connection was made.
func (l *Link) FreezeAt(d Direction, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flows[d].freezeAt = n
	l.checkPlans(&l.flows[d])
}

// Thaw ends a Freeze.
func (l *Link) Thaw(ds ...Direction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range ds {
		l.flows[d].frozen = false
	}
	l.change()
}

// Cut ends the connection now, at both ends. Bytes under way are lost.
func (l *Link) Cut(by Ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut(by)
}

// CutAt cuts the connection when n bytes have passed in a direction since the connection was made.
// No further byte passes there.
func (l *Link) CutAt(d Direction, n int64, by Ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flows[d].cutAt, l.flows[d].cutBy = n, by
	l.checkPlans(&l.flows[d])
}

// Vanish leaves the connection half open. It is reset at end e. The other end does not learn that:
// it gets what is under way and nothing more, and what it sends waits for ever, as far as there is
// room.
func (l *Link) Vanish(e End) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends[e].gone != nil {
		return
	}
	l.ends[e].gone = syscall.ECONNRESET
	l.faults.Vanished.Add(1)
	l.change()
}

// change wakes all that wait. l.mu is held here and in the functions below.
func (l *Link) change() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *Link) freeze(f *flow) {
	if !f.frozen {
		f.frozen = true
		l.faults.Frozen.Add(1)
		l.change()
	}
}

func (l *Link) cut(by Ending) {
	if by != FIN && by != RST {
		panic("faultnet: a connection is cut by FIN or RST")
	}
	if by == FIN {
		by = closing
	}
	now := time.Now()
	for d := range l.flows {
		f := &l.flows[d]
		f.drop()
		f.frozen, f.freezeAt, f.cutAt = false, -1, -1
		f.end, f.endAt = max(f.end, by), now
	}
	l.faults.Cut.Add(1)
	l.change()
}

// checkPlans cuts or freezes when enough bytes have passed.
func (l *Link) checkPlans(f *flow) {
	if f.cutAt >= 0 && f.passed >= f.cutAt {
		l.cut(f.cutBy)
	}
	if f.freezeAt >= 0 && f.passed >= f.freezeAt {
		f.freezeAt = -1
		l.freeze(f)
	}
}

// limit returns how many bytes may pass before the next cut or freeze, at most n.
func (f *flow) limit(n int) int {
	for _, at := range []int64{f.cutAt, f.freezeAt} {
		if at >= 0 {
			n = int(min(int64(n), at-f.passed))
		}
	}
	return n
}

// wait waits until something changes, or until the first of the nonzero times.
func (l *Link) wait(times ...time.Time) {
	var first time.Time
	for _, t := range times {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	changed := l.changed
	l.mu.Unlock()
	defer l.mu.Lock()
	if first.IsZero() {
		<-changed
		return
	}
	timer := time.NewTimer(time.Until(first))
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	}
}

func expired(deadline, now time.Time) bool { return !deadline.IsZero() && !deadline.After(now) }

// read reads what has arrived at e.
func (l *Link) read(e End, p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, end := &l.flows[e.receives()], &l.ends[e]
	for {
		now := time.Now()
		var next time.Time
		switch {
		case end.gone != nil:
			return 0, end.gone
		case expired(end.readDeadline, now):
			return 0, os.ErrDeadlineExceeded
		case len(f.segments) > 0 && f.arrived(f.segments[0].at, now):
			return l.take(f, p, now), nil
		case len(f.segments) == 0 && f.ended(now):
			if f.end == RST {
				return 0, syscall.ECONNRESET
			}
			return 0, io.EOF
		case f.frozen:
		case len(f.segments) > 0:
			next = f.segments[0].at
		case f.end != 0:
			next = f.endAt
		}
		l.wait(next, end.readDeadline)
	}
}

// take moves bytes that have arrived to p. If segments have a limit, it takes only one segment.
func (l *Link) take(f *flow, p []byte, now time.Time) (n int) {
	for len(f.segments) > 0 && n < len(p) && f.arrived(f.segments[0].at, now) {
		s := &f.segments[0]
		part := s.data[:min(len(s.data), f.limit(len(p)-n))]
		l.faults.Flipped.Add(int64(f.flips.flip(f.way.Flip, part)))
		n += copy(p[n:], part)
		if s.data = s.data[len(part):]; len(s.data) == 0 {
			f.pop()
		}
		f.held -= len(part)
		f.passed += int64(len(part))
		l.checkPlans(f)
		if f.way.MaxSegment > 0 {
			break
		}
	}
	l.change()
	return n
}

// write sends p from e.
func (l *Link) write(e End, p []byte) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, back, end := &l.flows[e.sends()], &l.flows[e.receives()], &l.ends[e]
	for {
		now := time.Now()
		var told time.Time // when this end learns that the other one is gone
		if back.end > FIN && !back.frozen {
			told = back.endAt
		}
		switch {
		case end.gone != nil:
			return n, end.gone
		case expired(end.writeDeadline, now):
			return n, os.ErrDeadlineExceeded
		case f.end == FIN: // CloseWrite was called
			return n, syscall.EPIPE
		case back.end == RST && back.ended(now):
			return n, syscall.ECONNRESET
		case back.end == closing && back.ended(now):
			return n, syscall.EPIPE
		case n == len(p):
			return n, nil
		}
		var arrives time.Time
		if f.lost {
			f.dropArrived(now)
			if len(f.segments) > 0 && !f.frozen {
				arrives = f.segments[0].at
			}
		}
		part := p[n:]
		part = part[:min(len(part), f.way.segment(), max(0, f.way.capacity()-f.held))]
		if len(part) == 0 {
			l.wait(told, arrives, end.writeDeadline)
			continue
		}
		n += len(part)
		f.held += len(part)
		at := f.clock.arrival(&f.way, now, len(part))
		f.segments = append(f.segments, segment{append([]byte(nil), part...), at})
		l.change()
	}
}

// finish ends what e sends, after what is under way. Unless by is FIN, e also receives nothing any
// more, and its Read and Write return gone. finish reports false if e was closed before.
func (l *Link) finish(e End, by Ending, gone error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	end, f, in := &l.ends[e], &l.flows[e.sends()], &l.flows[e.receives()]
	if errors.Is(end.gone, net.ErrClosed) {
		return false
	}
	if end.gone == nil { // an end that vanished sends nothing
		if by > f.end {
			f.end, f.endAt = by, f.clock.arrival(&f.way, time.Now(), 0)
		}
		if by != FIN {
			in.lost = true
			in.drop()
		}
	}
	if by != FIN {
		end.gone = gone
	}
	l.change()
	return true
}

// deafen makes e receive nothing any more.
func (l *Link) deafen(e End) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := &l.flows[e.receives()]
	in.lost = true
	in.drop()
	l.change()
}

// awaitReset waits for a reset after e has read the end of the stream. It reports false if e has
// ended its own stream, because a reset has no effect then.
func (l *Link) awaitReset(e End) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &l.flows[e.receives()]
	for {
		switch {
		case f.end == RST && f.ended(time.Now()):
			return true
		case l.flows[e.sends()].end != 0 || l.ends[e].gone != nil:
			return false
		case f.end == RST && !f.frozen:
			l.wait(f.endAt)
		default:
			l.wait()
		}
	}
}
