package faultnet

import (
	"math/rand/v2"
	"sync"
	"time"
)

// overtakeWait is how long a packet waits to be overtaken by another one.
const overtakeWait = 20 * time.Millisecond

// packets are the two directions of a network of packets.
type packets struct {
	lanes [2]*lane
	group sync.WaitGroup
}

// lane is one direction.
type lane struct {
	faults *Counters

	mu                   sync.Mutex // guards what follows
	changed              chan struct{}
	way                  Way
	clock                clock
	flips                flipper
	loss, twice, reorder *rand.Rand
	queue                []packet // in the order of their arrival
	held                 int      // bytes of the queue
	frozen, closed       bool
}

type packet struct {
	data      []byte
	at        time.Time // when it arrives
	copies    int
	overtaken bool
	deliver   func(data []byte)
}

// start starts the network. It runs until closeLanes.
func (ps *packets) start(cfg *Config, faults *Counters) {
	for d, way := range cfg.ways(false) {
		random := func(purpose int) *rand.Rand { return source(cfg.Seed, 0, Direction(d), purpose) }
		l := &lane{
			faults:  faults,
			changed: make(chan struct{}),
			way:     way,
			clock:   clock{jitter: random(forJitter)},
			flips:   flipper{rnd: random(forFlips)},
			loss:    random(forLoss),
			twice:   random(forDuplicates),
			reorder: random(forReordering),
		}
		ps.lanes[d] = l
		ps.group.Go(l.run)
	}
}

// SetWay sets the Way of a direction, for packets that are sent from now on.
func (ps *packets) SetWay(d Direction, w Way) {
	w.check(false)
	ps.lanes[d].update(func(l *lane) { l.way = w })
}

// Freeze stops arrival in directions until Thaw. Packets sent meanwhile wait, as far as there is
// room.
func (ps *packets) Freeze(ds ...Direction) {
	for _, d := range ds {
		ps.lanes[d].update(func(l *lane) {
			if !l.frozen {
				l.frozen = true
				l.faults.Frozen.Add(1)
			}
		})
	}
}

// Thaw ends a Freeze.
func (ps *packets) Thaw(ds ...Direction) {
	for _, d := range ds {
		ps.lanes[d].update(func(l *lane) { l.frozen = false })
	}
}

// closeLanes ends both directions. Packets under way are lost.
func (ps *packets) closeLanes() {
	for _, l := range ps.lanes {
		l.update(func(l *lane) { l.closed = true })
	}
}

// update changes a lane and wakes its goroutine.
func (l *lane) update(f func(*lane)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
	close(l.changed)
	l.changed = make(chan struct{})
}

// send sends a copy of p to deliver, which is called on the goroutine of the lane.
func (l *lane) send(p []byte, deliver func([]byte)) {
	l.update(func(l *lane) {
		// Every packet takes the same random numbers, so that one setting does not change what
		// another one does.
		lost := l.loss.Float64() < l.way.Loss
		twice := l.twice.Float64() < l.way.Duplicate
		overtaken := l.reorder.Float64() < l.way.Reorder
		data := append([]byte(nil), p...)
		flipped := l.flips.flip(l.way.Flip, data)
		switch {
		case lost:
			l.faults.Lost.Add(1)
			return
		case l.held+len(data) > l.way.capacity():
			l.faults.Overflowed.Add(1)
			return
		}
		l.faults.Flipped.Add(int64(flipped))
		copies := 1
		if twice {
			l.faults.Duplicated.Add(1)
			copies = 2
		}
		l.held += len(data)
		at := l.clock.arrival(&l.way, time.Now(), len(data))
		l.queue = append(l.queue, packet{data, at, copies, overtaken, deliver})
	})
}

// run delivers packets.
func (l *lane) run() {
	for {
		p, ok := l.next()
		if !ok {
			return
		}
		for range p.copies {
			p.deliver(p.data)
		}
	}
}

// next waits for the next packet to deliver.
func (l *lane) next() (packet, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed {
		i, at := l.choose()
		if i >= 0 && !at.After(time.Now()) {
			p := l.queue[i]
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			l.held -= len(p.data)
			if i > 0 {
				l.faults.Reordered.Add(int64(i))
				for j := range i { // these have been overtaken now
					l.queue[j].overtaken = false
				}
			}
			return p, true
		}
		changed := l.changed
		l.mu.Unlock()
		if i < 0 {
			<-changed
		} else {
			timer := time.NewTimer(time.Until(at))
			select {
			case <-changed:
			case <-timer.C:
			}
			timer.Stop()
		}
		l.mu.Lock()
	}
	return packet{}, false
}

// choose returns which packet to deliver next, and when. It is the first that need not be
// overtaken, unless packets ahead of it have waited for too long.
func (l *lane) choose() (int, time.Time) {
	if l.frozen || len(l.queue) == 0 {
		return -1, time.Time{}
	}
	for i, p := range l.queue {
		if !p.overtaken {
			if first := l.queue[0].at.Add(overtakeWait); i > 0 && first.Before(p.at) {
				return 0, first
			}
			return i, p.at
		}
	}
	return 0, l.queue[0].at.Add(overtakeWait)
}
