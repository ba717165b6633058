package raw

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// Client is a connection to a server. It does one thing at a time.
type Client struct {
	conn net.Conn
	data []byte
	rate map[int]float64 // bytes a second by size, as it was last
}

// Dial connects to a server. Data is what is sent, and bounds the size of a write.
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

// To find out how fast a stream is, firstWrites are made, or as many as firstStream bytes take.
const (
	firstWrites = 256
	firstStream = 1 << 20
)

// Stream sends about as much as takes d, size bytes with each write, and returns how many bytes a second the server has read.
func (c *Client) Stream(size int, d time.Duration) (rate float64, err error) {
	if c.rate[size] == 0 {
		if c.rate[size], err = c.send(size, min(firstWrites*size, firstStream)); err != nil {
			return 0, err
		}
	}
	rate, err = c.send(size, int(c.rate[size]*d.Seconds()))
	c.rate[size] = rate
	return rate, err
}

// send sends about n bytes.
func (c *Client) send(size, n int) (rate float64, err error) {
	writes := max(n/size, 1)
	var head [headSize]byte
	putHead(head[:], stream, uint64(writes*size))
	begin := time.Now()
	if _, err := c.conn.Write(head[:]); err != nil {
		return 0, err
	}
	for range writes {
		if _, err := c.conn.Write(c.data[:size]); err != nil {
			return 0, err
		}
	}
	if _, err := io.ReadFull(c.conn, head[:1]); err != nil {
		return 0, err
	}
	return float64(writes*size) / time.Since(begin).Seconds(), nil
}

// echoRun is how many messages follow on one head.
const echoRun = 64

// PingPong sends messages for about d, each when the one before has come back, and records how long each took.
func (c *Client) PingPong(d time.Duration, record func(time.Duration)) error {
	var head [headSize]byte
	message := make([]byte, MessageSize)
	for last, until := time.Now(), time.Now().Add(d); last.Before(until); {
		putHead(head[:], echo, echoRun)
		if _, err := c.conn.Write(head[:]); err != nil {
			return err
		}
		last = time.Now()
		for range echoRun {
			if _, err := c.conn.Write(message); err != nil {
				return err
			}
			if _, err := io.ReadFull(c.conn, message); err != nil {
				return err
			}
			now := time.Now()
			record(now.Sub(last))
			last = now
		}
	}
	return nil
}
