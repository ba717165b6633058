package raw

import (
	"context"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/rounds"
)

// Client is a connection to a server. It can do one thing at a time.
type Client struct {
	conn net.Conn
	data []byte
	buf  []byte           // for reading
	last map[int]streamed // the last stream, by the size of a write
	echo messages
	head [headSize]byte
}

// Dial connects to a server. The client sends from data, which must hold the largest write, and at
// least a message.
func Dial(ctx context.Context, addr string, s host.Sockets, data []byte) (*Client, error) {
	d := net.Dialer{Control: s.Control}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, data: data, last: make(map[int]streamed)}, nil
}

// Close closes the connection, which ends what is under way.
func (c *Client) Close() error { return c.conn.Close() }

// announce sends a head.
func (c *Client) announce(h head) error {
	h.put(c.head[:])
	_, err := c.conn.Write(c.head[:])
	return err
}

// The first stream has firstWrites writes, or as many as firstStream bytes need. It finds out how
// fast a stream is.
const (
	firstWrites = 256
	firstStream = 1 << 20
)

// streamed describes an earlier stream.
type streamed struct {
	writes int
	took   time.Duration
}

// Stream sends for about d, size bytes with each write, and returns how many bytes a second the
// server has read. It chooses the number of writes by the speed of the stream before.
func (c *Client) Stream(size int, d time.Duration) (rate float64, err error) {
	s := c.last[size]
	if s.writes == 0 {
		if s, err = c.timed(size, max(1, min(firstWrites, firstStream/size))); err != nil {
			return 0, err
		}
	}
	s, err = c.timed(size, rounds.Fitting(d, s.writes, s.took, 1))
	c.last[size] = s
	return float64(s.writes*size) / s.took.Seconds(), err
}

// timed sends a stream.
func (c *Client) timed(size, writes int) (streamed, error) {
	begin := time.Now()
	err := c.Send(size, writes)
	return streamed{writes, time.Since(begin)}, err
}

// echoRun is how many messages of a PingPong follow one head.
const echoRun = 64

// PingPong sends messages for about d, each after the answer to the one before, and records how
// long each took.
func (c *Client) PingPong(d time.Duration, record func(time.Duration)) error {
	for until := time.Now().Add(d); time.Now().Before(until); {
		if err := c.Announce(echoRun, 1, 1); err != nil {
			return err
		}
		if err := c.Exchange(echoRun, record); err != nil {
			return err
		}
	}
	return nil
}
