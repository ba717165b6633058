package raw

import (
	"context"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// Client is a connection to a server. It does one thing at a time.
type Client struct {
	conn net.Conn
	data []byte
	buf  []byte // what is read
	rate map[int]float64
	echo messages
	head [headSize]byte
}

// Dial connects to a server. Data is what is sent: it bounds the size of a write, and is a message
// at least.
func Dial(ctx context.Context, addr string, s host.Sockets, data []byte) (*Client, error) {
	d := net.Dialer{Control: s.Control}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, data: data, rate: make(map[int]float64)}, nil
}

// Close ends the connection, and what it is used for.
func (c *Client) Close() error { return c.conn.Close() }

// announce sends a head.
func (c *Client) announce(h head) error {
	h.put(c.head[:])
	_, err := c.conn.Write(c.head[:])
	return err
}

// To find out how fast a stream is, firstWrites are made, or as many as firstStream bytes take.
const (
	firstWrites = 256
	firstStream = 1 << 20
)

// Stream sends about as much as takes d, size bytes with each write, and returns how many bytes a
// second the server has read.
func (c *Client) Stream(size int, d time.Duration) (rate float64, err error) {
	if c.rate[size] == 0 { // as it was last
		if c.rate[size], err = c.timed(size, min(firstWrites*size, firstStream)); err != nil {
			return 0, err
		}
	}
	rate, err = c.timed(size, int(c.rate[size]*d.Seconds()))
	c.rate[size] = rate
	return rate, err
}

// timed sends about n bytes.
func (c *Client) timed(size, n int) (rate float64, err error) {
	writes := max(n/size, 1)
	begin := time.Now()
	if err := c.Send(size, writes); err != nil {
		return 0, err
	}
	return float64(writes*size) / time.Since(begin).Seconds(), nil
}

// echoRun is how many messages of a PingPong follow on one head.
const echoRun = 64

// PingPong sends messages for about d, each when the one before has come back, and records how long
// each took.
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
