package paired

import (
	"context"
	"net"
	"time"
)

// TCPRequests is a Throughput scenario: the client keeps 8 requests of 64 bytes
// outstanding; the server answers each with 1 MiB, always the same one, which the client reads into a
// buffer of 256 KiB.
const TCPRequests = "tcp/requests"

const (
	tcpOutstanding  = 8
	tcpRequestBytes = 64
)

func init() {
	Register(Scenario{
		Name:   TCPRequests,
		Metric: Throughput,
		Bytes:  tcpBulk,
		Listen: func(ctx context.Context, s Sockets) (Server, error) {
			return listenTCP(ctx, s, answerTCP)
		},
		Dial: func(ctx context.Context, s Sockets, addr string) (Client, error) {
			c, err := dialTCP(ctx, s, addr)
			if err != nil {
				return nil, err
			}
			return &tcpRequests{
				Conn:    c,
				request: make([]byte, tcpRequestBytes),
				buf:     make([]byte, tcpReadBuffer),
			}, nil
		},
	})
}

// answerTCP answers requests.
func answerTCP(c net.Conn) error {
	requests := make([]byte, tcpOutstanding*tcpRequestBytes)
	data := pattern(tcpBulk)
	for unread := 0; ; {
		n, err := c.Read(requests)
		if err != nil {
			return err
		}
		for unread += n; unread >= tcpRequestBytes; unread -= tcpRequestBytes {
			if _, err := c.Write(data); err != nil {
				return err
			}
		}
	}
}

// tcpRequests is the client of TCPRequests.
type tcpRequests struct {
	net.Conn
	request, buf []byte
}

// Run makes n requests.
func (r *tcpRequests) Run(n int, _ []time.Duration) error {
	sent := 0
	for ; sent < min(n, tcpOutstanding); sent++ {
		if _, err := r.Write(r.request); err != nil {
			return err
		}
	}
	left := n * tcpBulk
	for arrived := 0; left > 0; {
		k, err := r.Read(r.buf[:min(left, len(r.buf))])
		if err != nil {
			return err
		}
		left -= k
		for arrived += k; arrived >= tcpBulk; arrived -= tcpBulk {
			if sent == n {
				continue
			}
			sent++
			if _, err := r.Write(r.request); err != nil {
				return err
			}
		}
	}
	return nil
}
