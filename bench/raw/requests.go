package raw

import "github.com/rpcrdma/go-rpcrdma/bench/host"

const (
	requestSize = 64 // bytes
	outstanding = 8  // requests at a time
)

// Request makes n requests, 8 at a time, and reads the answers.
func (c *Client) Request(n int) error {
	if err := c.announce(head{what: requests, n: uint64(n)}); err != nil {
		return err
	}
	if len(c.buf) < readSize {
		c.buf = make([]byte, readSize)
	}
	request := c.data[:requestSize]
	sent := 0
	for ; sent < min(n, outstanding); sent++ {
		if _, err := c.conn.Write(request); err != nil {
			return err
		}
	}
	left := n * BulkSize
	for arrived := 0; left > 0; {
		k, err := c.conn.Read(c.buf[:min(left, len(c.buf))])
		if err != nil {
			return err
		}
		left -= k
		for arrived += k; arrived >= BulkSize; arrived -= BulkSize {
			if sent == n {
				continue
			}
			sent++
			if _, err := c.conn.Write(request); err != nil {
				return err
			}
		}
	}
	return nil
}

// requests answers n requests.
func (s *server) requests(n uint64) error {
	if s.data == nil {
		s.data = host.Pattern(BulkSize)
	}
	buf := s.room(outstanding * requestSize)
	for unread := 0; n > 0; {
		k, err := s.conn.Read(buf[:int(min(n, outstanding))*requestSize-unread])
		if err != nil {
			return err
		}
		for unread += k; unread >= requestSize; unread -= requestSize {
			if _, err := s.conn.Write(s.data); err != nil {
				return err
			}
			n--
		}
	}
	return nil
}
