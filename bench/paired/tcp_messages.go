package paired

import (
	"context"
	"net"
	"time"
)

// Messages of 128 bytes that are answered with as many.
const (
	// TCPPingPong is a Latency scenario: one message at a time.
	TCPPingPong = "tcp/pingpong"
	// TCPMessages is a Rate scenario: 64 messages outstanding. Either side writes each with
	// a call of its own, as somebody does who knows nothing of the next one. One read may
	// bring many.
	TCPMessages = "tcp/messages"
	// TCPMessagesBatched is TCPMessages where the answers to one read leave with one write,
	// and so do the messages that follow on the answers of one read.
	TCPMessagesBatched = "tcp/messages-batched"
)

const (
	tcpMessageBytes = 128
	tcpWindow       = 64
)

func init() {
	for _, m := range []struct {
		name   string
		metric Metric
		window int
		batch  int // messages in one write, at most
	}{
		{TCPPingPong, Latency, 1, 1},
		{TCPMessages, Rate, tcpWindow, 1},
		{TCPMessagesBatched, Rate, tcpWindow, tcpWindow},
	} {
		Register(Scenario{
			Name:   m.name,
			Metric: m.metric,
			Bytes:  tcpMessageBytes,
			Listen: func(ctx context.Context, s Sockets) (Server, error) {
				return listenTCP(ctx, s, func(c net.Conn) error { return echoTCP(c, m.batch) })
			},
			Dial: func(ctx context.Context, s Sockets, addr string) (Client, error) {
				c, err := dialTCP(ctx, s, addr)
				if err != nil {
					return nil, err
				}
				return &tcpMessages{messages: newMessages(c, m.batch), window: m.window}, nil
			},
		})
	}
}

// echoTCP answers messages.
func echoTCP(c net.Conn, batch int) error {
	for m := newMessages(c, batch); ; {
		n, err := m.receive()
		if err != nil {
			return err
		}
		if err := m.send(n); err != nil {
			return err
		}
	}
}

// messages is a connection on which messages travel.
type messages struct {
	net.Conn
	batch   int
	in, out []byte
	unread  int // bytes of a message that has arrived in part
}

func newMessages(c net.Conn, batch int) *messages {
	return &messages{
		Conn:  c,
		batch: batch,
		in:    make([]byte, tcpWindow*tcpMessageBytes),
		out:   pattern(tcpWindow * tcpMessageBytes),
	}
}

// receive waits for messages and returns how many one read has completed, which may be none.
func (m *messages) receive() (int, error) {
	n, err := m.Read(m.in)
	m.unread += n
	n = m.unread / tcpMessageBytes
	m.unread %= tcpMessageBytes
	return n, err
}

// send sends n messages, at most a batch with each write.
func (m *messages) send(n int) error {
	for n > 0 {
		k := min(n, m.batch)
		if _, err := m.Write(m.out[:k*tcpMessageBytes]); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

// tcpMessages is the client.
type tcpMessages struct {
	*messages
	window int
}

// Run sends n messages and waits for the answers. A sample is the time from one answer
// to the next, which in a ping-pong is all there is.
func (m *tcpMessages) Run(n int, samples []time.Duration) error {
	sent, got := min(n, m.window), 0
	last := time.Now()
	if err := m.send(sent); err != nil {
		return err
	}
	for got < n {
		k, err := m.receive()
		if err != nil {
			return err
		}
		if len(samples) > 0 && k > 0 {
			now := time.Now()
			samples[got], last = now.Sub(last), now
		}
		got += k
		next := min(k, n-sent)
		sent += next
		if err := m.send(next); err != nil {
			return err
		}
	}
	return nil
}
