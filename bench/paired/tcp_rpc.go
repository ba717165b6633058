package paired

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// Transfers by request and response, as a remote procedure call over TCP has them that was written for nothing
// else. A message is 128 bytes, the first four of which are a slot, and in one direction payload follows. Each call in flight has a slot,
// that is memory of its own at either end, and payload is sent from there and read to there: nobody copies it.

const (
	tcpHeaderBytes  = 128
	tcpHeaderBuffer = 4 << 10 // what is read for the sake of a header, at most
)

// TCPRead is a Throughput scenario, tcp/read-SIZExN: the client has inFlight requests outstanding, each of which the server
// answers with a header and size bytes.
func TCPRead(size, inFlight int) Scenario {
	return tcpTransfer("read", transfer{size: size, inFlight: inFlight, reply: true})
}

// TCPWrite is a Throughput scenario, tcp/write-SIZExN: the client has inFlight requests outstanding, each with size bytes, which
// the server answers with a header.
func TCPWrite(size, inFlight int) Scenario {
	return tcpTransfer("write", transfer{size: size, inFlight: inFlight, request: true})
}

// transfer says which messages have payload.
type transfer struct {
	size, inFlight int
	request, reply bool
}

func tcpTransfer(name string, t transfer) Scenario {
	return Scenario{
		Name:   fmt.Sprintf("tcp/%s-%dKiBx%d", name, t.size>>10, t.inFlight),
		Metric: Throughput,
		Bytes:  t.size,
		Listen: func(ctx context.Context, s Sockets) (Server, error) {
			return listenTCP(ctx, s, func(c net.Conn) error { return newTCPCalls(c, t).serve() })
		},
		Dial: func(ctx context.Context, s Sockets, addr string) (Client, error) {
			c, err := dialTCP(ctx, s, addr)
			if err != nil {
				return nil, err
			}
			return newTCPCalls(c, t), nil
		},
	}
}

// tcpCalls is either end.
type tcpCalls struct {
	net.Conn
	transfer
	in     *bufio.Reader
	header []byte
	slots  [][]byte
	pieces net.Buffers // of one write
	array  [2][]byte
}

func newTCPCalls(c net.Conn, t transfer) *tcpCalls {
	r := &tcpCalls{Conn: c, transfer: t, in: bufio.NewReaderSize(c, tcpHeaderBuffer), header: pattern(tcpHeaderBytes)}
	for range t.inFlight {
		r.slots = append(r.slots, pattern(t.size))
	}
	return r
}

// send sends a message in one write.
func (r *tcpCalls) send(slot int, payload bool) error {
	binary.BigEndian.PutUint32(r.header, uint32(slot))
	if !payload {
		_, err := r.Write(r.header)
		return err
	}
	r.pieces = append(r.array[:0], r.header, r.slots[slot])
	_, err := r.pieces.WriteTo(r.Conn)
	return err
}

// receive waits for a message. What of its payload has not come with the header is read to its place.
func (r *tcpCalls) receive(payload bool) (slot int, err error) {
	h, err := r.in.Peek(tcpHeaderBytes)
	if err != nil {
		return 0, err
	}
	slot = int(binary.BigEndian.Uint32(h))
	if _, err := r.in.Discard(tcpHeaderBytes); err != nil {
		return 0, err
	}
	if payload {
		_, err = io.ReadFull(r.in, r.slots[slot])
	}
	return slot, err
}

func (r *tcpCalls) serve() error {
	for {
		slot, err := r.receive(r.request)
		if err != nil {
			return err
		}
		if err := r.send(slot, r.reply); err != nil {
			return err
		}
	}
}

// Run makes n calls.
func (r *tcpCalls) Run(n int, _ []time.Duration) error {
	sent := 0
	for ; sent < min(n, len(r.slots)); sent++ {
		if err := r.send(sent, r.request); err != nil {
			return err
		}
	}
	for range n {
		slot, err := r.receive(r.reply)
		if err != nil {
			return err
		}
		if sent < n {
			sent++
			if err := r.send(slot, r.request); err != nil {
				return err
			}
		}
	}
	return nil
}
