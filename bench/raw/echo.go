package raw

import (
	"net"
	"time"
)

// messages is one end of an echo.
type messages struct {
	conn  net.Conn
	batch int // the most messages of one write
	buf   []byte
	have  int // bytes of buf that have arrived
}

// receive reads once, and returns how many messages that completed, possibly none. They are at the
// beginning of buf. left is how many are still expected.
func (m *messages) receive(left uint64) (int, error) {
	room := int(min(left, uint64(len(m.buf)/MessageSize))) * MessageSize
	n, err := m.conn.Read(m.buf[m.have:room])
	m.have += n
	return m.have / MessageSize, err
}

// drop removes the first n messages.
func (m *messages) drop(n int) { m.have = copy(m.buf, m.buf[n*MessageSize:m.have]) }

// send sends n messages from data, at most a batch with each write.
func (m *messages) send(data []byte, n int) error {
	for n > 0 {
		k := min(n, m.batch) * MessageSize
		if _, err := m.conn.Write(data[:k]); err != nil {
			return err
		}
		data, n = data[k:], n-k/MessageSize
	}
	return nil
}

// Announce announces an echo of n messages, which Exchange then sends. Up to window messages are
// outstanding at a time. Either side sends up to batch messages with one write, if one read brought
// the messages that they answer.
func (c *Client) Announce(n uint64, window, batch int) error {
	if len(c.buf) < window*MessageSize {
		c.buf = make([]byte, window*MessageSize)
	}
	c.echo = messages{conn: c.conn, batch: batch, buf: c.buf[:window*MessageSize]}
	return c.announce(head{what: echo, n: n, window: window, batch: batch})
}

// Exchange sends n of the announced messages and waits for the answers. If record is not nil, it
// gets the time between two reads of answers. With one message at a time that is the round trip.
func (c *Client) Exchange(n int, record func(time.Duration)) error {
	m := &c.echo
	sent, got := min(n, len(m.buf)/MessageSize), 0
	var last time.Time
	if record != nil {
		last = time.Now()
	}
	if err := m.send(c.data, sent); err != nil {
		return err
	}
	for got < n {
		k, err := m.receive(uint64(n - got))
		if err != nil {
			return err
		}
		m.drop(k)
		if record != nil && k > 0 {
			now := time.Now()
			record(now.Sub(last))
			last = now
		}
		got += k
		next := min(k, n-sent)
		sent += next
		if err := m.send(c.data, next); err != nil {
			return err
		}
	}
	return nil
}

// echoes returns messages to the client.
func (s *server) echoes(h head) error {
	m := messages{conn: s.conn, batch: h.batch, buf: s.room(h.window * MessageSize)}
	for left := h.n; left > 0; {
		n, err := m.receive(left)
		if err != nil {
			return err
		}
		if err := m.send(m.buf, n); err != nil {
			return err
		}
		m.drop(n)
		left -= uint64(n)
	}
	return nil
}
