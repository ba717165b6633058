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
	// TCPStream is a Throughput scenario: the client writes 1 MiB at a time, always the same one;
	// the server reads all of it into a buffer of 256 KiB, and confirms the end.
	TCPStream = "tcp/stream"
	// TCPRequests is a Throughput scenario: the client keeps 8 requests of 64 bytes outstanding;
	// the server answers each with 1 MiB, always the same one, which the client reads into a buffer
	// of 256 KiB.
	TCPRequests = "tcp/requests"

	// TCPPingPong is a Latency scenario: a message of 128 bytes that is answered with as many, one
	// at a time.
	TCPPingPong = "tcp/pingpong"
	// TCPMessages is a Rate scenario: 64 such messages outstanding. Either side writes each with a
	// call of its own, as somebody does who knows nothing of the next one. One read may bring many.
	TCPMessages = "tcp/messages"
	// TCPMessagesBatched is TCPMessages where the answers to one read leave with one write, and so
	// do the messages that follow on the answers of one read.
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

// TCPRead is a Throughput scenario, tcp/read-SIZExN: the client has inFlight requests outstanding,
// each of which the server answers with size bytes (raw.Transfer).
func TCPRead(size, inFlight int) Scenario {
	return tcpTransfer("read", size, raw.Transfer{Response: size, InFlight: inFlight})
}

// TCPWrite is a Throughput scenario, tcp/write-SIZExN: the client has inFlight requests
// outstanding, each with size bytes, which the server answers (raw.Transfer).
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

// tcpMessages exchanges messages.
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

// tcp is what the scenarios have in common: one kind of server, and a client that is put to some
// use.
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

// tcpClient is the client of all.
type tcpClient struct {
	*raw.Client
	run runner
}

func (c tcpClient) Run(n int, samples []time.Duration) error { return c.run(n, samples) }

// ListenTCP returns what serves raw TCP to that many connections at a time (Scenario.Listen).
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
