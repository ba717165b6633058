package recordmark

import (
	"runtime"
	"time"
)

// write is the writing goroutine: it writes what is queued, as much at once as there
// is.
func (c *Conn) write() {
	defer c.exit()
	var batch []*outgoing
	var deadline time.Time
	for {
		if batch = c.take(batch[:0]); len(batch) == 0 {
			c.closeWrite()
			return
		}
		if limit := c.cfg.WriteTimeout; limit > 0 {
			// Setting a deadline costs more than asking for the time.
			if now := time.Now(); now.Add(limit / 2).After(deadline) {
				deadline = now.Add(limit)
				c.conn.SetWriteDeadline(deadline)
			}
		}
		if err := c.send(batch); err != nil {
			c.stopWriting(err)
			c.written(batch)
			return
		}
		c.written(batch)
		clear(batch)
	}
}

// take waits until something is queued and takes about batchLen bytes of it. It
// returns nothing when no more is to be written.
func (c *Conn) take(batch []*outgoing) []*outgoing {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.queue.first == nil {
		for c.queue.first == nil {
			if c.err != nil || c.writeErr != nil {
				return nil
			}
			c.filled.Wait()
		}
		c.yield()
	}
	for n := 0; c.queue.first != nil && n < batchLen; {
		o := c.queue.first
		c.queue.remove(o)
		o.state = writing
		n += o.len
		batch = append(batch, o)
	}
	return batch
}

// yield lets whoever is about to call or to answer come along: one write for many costs
// little more than one for one. Meanwhile, what is queued may be taken back.
func (c *Conn) yield() {
	c.mu.Unlock()
	runtime.Gosched()
	c.mu.Lock()
}

func (c *Conn) send(batch []*outgoing) error {
	for _, o := range batch {
		if err := c.out.message(o.msg, o.len); err != nil {
			return err
		}
		c.counters.recordsOut.Add(1)
		c.counters.bytesOut.Add(uint64(o.len))
	}
	return c.out.flush()
}

// written gives back the messages of a batch, sent or not.
func (c *Conn) written(batch []*outgoing) {
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
			c.answered(o.in)
		}
	}
}
