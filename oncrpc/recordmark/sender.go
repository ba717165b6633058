package recordmark

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// sender writes the messages of calls and replies, as many at once as there are.
type sender struct {
	conn *Conn
	out  gatherer // the sending goroutine's

	// Conn.mu guards the fields below.
	queue    queue
	filled   sync.Cond // the queue is not empty, or nothing more will be written
	err      error     // why nothing may be queued any more, although the connection is open
	draining bool      // err is set because the server shuts down
}

// open initializes a sender with an empty queue.
func (s *sender) open(c *Conn) {
	s.conn, s.out, s.filled.L = c, newGatherer(c.conn, c.cfg.MaxFragment), &c.mu
}

// run writes what is queued until nothing more will be written.
func (s *sender) run() {
	c := s.conn
	defer c.exit()
	var batch []*outgoing
	var deadline time.Time
	for {
		if batch = s.take(batch[:0]); len(batch) == 0 {
			s.close()
			return
		}
		if limit := c.cfg.WriteTimeout; limit > 0 {
			// Setting a deadline costs more than asking for the time.
			if now := time.Now(); now.Add(limit / 2).After(deadline) {
				deadline = now.Add(limit)
				c.conn.SetWriteDeadline(deadline)
			}
		}
		if err := s.write(batch); err != nil {
			s.fail(err)
			s.written(batch)
			return
		}
		s.written(batch)
		clear(batch)
	}
}

// take waits until something is queued and takes about batchLen bytes of it. It returns nothing
// when nothing more will be written.
func (s *sender) take(batch []*outgoing) []*outgoing {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for !s.ready() {
		for !s.ready() {
			if c.err != nil || s.err != nil {
				return nil
			}
			s.filled.Wait()
		}
		s.yield()
	}
	for n := 0; n < batchLen && s.ready(); {
		o := s.queue.pop()
		o.state = writing
		n += o.len
		batch = append(batch, o)
	}
	return batch
}

// ready reports whether something may be written; Conn.mu is held. While TLS is starting, only
// replies may be, such as the one that agrees to TLS.
func (s *sender) ready() bool {
	o := s.queue.First()
	return o != nil && (!s.conn.tls.starting || o.in != nil)
}

// yield lets other goroutines queue their calls and replies: one write of many messages costs
// little more than a write of one. Meanwhile, what is queued may be removed.
func (s *sender) yield() {
	s.conn.mu.Unlock()
	runtime.Gosched()
	s.conn.mu.Lock()
}

// write writes the messages of a batch.
func (s *sender) write(batch []*outgoing) error {
	counters := s.conn.counters
	for _, o := range batch {
		if err := s.out.message(o.msg, o.len); err != nil {
			return err
		}
		atomic.AddUint64(&counters.stats.RecordsOut, 1)
		atomic.AddUint64(&counters.stats.BytesOut, uint64(o.len))
	}
	return s.out.flush()
}

// written returns the messages of a batch, sent or not.
func (s *sender) written(batch []*outgoing) {
	c := s.conn
	c.mu.Lock()
	for i, o := range batch {
		o.state = idle
		if p := o.call; p != nil {
			batch[i] = nil
			if p.reply != nil || p.err != nil || p.gone {
				p.done <- struct{}{}
			}
		}
	}
	c.mu.Unlock()
	for _, o := range batch {
		if o != nil {
			c.responder.answered(o.in)
		}
	}
}

// discard empties the queue and returns the replies in it, for responder.drop; Conn.mu is held.
func (s *sender) discard() (lost queue) {
	for o := s.queue.pop(); o != nil; o = s.queue.pop() {
		if o.in != nil {
			lost.push(o)
		}
	}
	return lost
}
