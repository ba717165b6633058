package paired

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/raw"
)

// What raw TCP does (package raw).
const (
	// TCPStream is a Throughput scenario: the client writes the same 1 MiB again and again. The
	// server reads it into a buffer of 256 KiB, and confirms the end.
	TCPStream = "tcp/stream"
	// TCPRequests is a Throughput scenario: the client keeps 8 requests of 64 bytes outstanding.
	// The server answers each with the same 1 MiB, which the client reads into a buffer of 256 KiB.
	TCPRequests = "tcp/requests"

	// TCPPingPong is a Latency scenario: a message of 128 bytes and an answer of 128 bytes, one at
	// a time.
	TCPPingPong = "tcp/pingpong"
	// TCPMessages is a Rate scenario: 64 such messages are outstanding. Each side makes one write
	// for each message, but may receive many with one read.
	TCPMessages = "tcp/messages"
	// TCPMessagesBatched is TCPMessages, except that each side answers all messages of one read
	// with one write.
	TCPMessagesBatched = "tcp/messages-batched"
)

func init() {
	Register(tcp(TCPStream, Throughput, raw.BulkSize, func(c *raw.Client) runner {
		return func(n int, _ []time.Duration) error { return c.Send(raw.BulkSize, n) }
	}))
	Register(tcp(TCPRequests, Throughput, raw.BulkSize, func(c *raw.Client) runner {
		return func(n int, _ []time.Duration) error { return c.Request(n) }
	}))
	const many = 64
	Register(tcpMessages(TCPPingPong, Latency, 1, 1))
	Register(tcpMessages(TCPMessages, Rate, many, 1))
	Register(tcpMessages(TCPMessagesBatched, Rate, many, many))
}

// TCPRead returns the Throughput scenario tcp/read-SIZExN. The client keeps inFlight requests
// outstanding, and the server answers each with size bytes (raw.Transfer).
func TCPRead(size, inFlight int) Scenario {
	return tcpTransfer("read", size, raw.Transfer{Response: size, InFlight: inFlight})
}

// TCPWrite returns the Throughput scenario tcp/write-SIZExN. The client keeps inFlight requests of
// size bytes outstanding, and the server answers each (raw.Transfer).
func TCPWrite(size, inFlight int) Scenario {
	return tcpTransfer("write", size, raw.Transfer{Request: size, InFlight: inFlight})
}

func tcpTransfer(name string, size int, t raw.Transfer) Scenario {
	name = fmt.Sprintf("tcp/%s-%dKiBx%d", name, size>>10, t.InFlight)
	return tcp(name, Throughput, size, func(c *raw.Client) runner {
		calls := c.Calls(t)
		return func(n int, _ []time.Duration) error { return calls.Run(n) }
	})
}

// tcpMessages returns a scenario that exchanges messages.
func tcpMessages(name string, metric Metric, window, batch int) Scenario {
	return tcp(name, metric, raw.MessageSize, func(c *raw.Client) runner {
		return func(n int, samples []time.Duration) error {
			if err := c.Announce(uint64(n), window, batch); err != nil {
				return err
			}
			if len(samples) == 0 {
				return c.Exchange(n, nil)
			}
			i := 0
			return c.Exchange(n, func(took time.Duration) { samples[i] = took; i++ })
		}
	})
}

// runner is Client.Run.
type runner func(n int, samples []time.Duration) error

// tcp returns a scenario with a raw TCP server, and a client that use turns into Client.Run.
func tcp(name string, metric Metric, bytes int, use func(*raw.Client) runner) Scenario {
	return Scenario{
		Name:   name,
		Metric: metric,
		Bytes:  bytes,
		Listen: ListenTCP(1),
		Dial: func(ctx context.Context, s Sockets, addr string) (Client, error) {
			c, err := raw.Dial(ctx, addr, s, host.Pattern(raw.BulkSize))
			if err != nil {
				return nil, err
			}
			return tcpClient{c, use(c)}, nil
		},
	}
}

// tcpClient is the client of all scenarios over TCP.
type tcpClient struct {
	*raw.Client
	run runner
}

func (c tcpClient) Run(n int, samples []time.Duration) error { return c.run(n, samples) }

// ListenTCP returns a [Scenario].Listen for a raw TCP server. It serves up to conns connections at
// a time.
func ListenTCP(conns int) func(context.Context, Sockets) (Server, error) {
	return func(ctx context.Context, s Sockets) (Server, error) {
		lc := net.ListenConfig{Control: s.Control}
		l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		return Serve(ctx, l.Addr(), func(ctx context.Context) error { return raw.Serve(ctx, l, conns) }), nil
	}
}
