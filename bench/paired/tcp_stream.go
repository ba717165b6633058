package paired

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"time"
)

// TCPStream is a Throughput scenario: the client writes 1 MiB at a time, always the same
// one; the server reads all of it into a buffer of 256 KiB, and confirms the end.
const TCPStream = "tcp/stream"

const (
	tcpBulk = 1 << 20 // payload of one operation

	// tcpReadBuffer is how much one read of bulk data takes. With 64 KiB it gets slower, with up
	// to 1 MiB no faster.
	tcpReadBuffer = 256 << 10
)

func init() {
	Register(Scenario{
		Name:   TCPStream,
		Metric: Throughput,
		Bytes:  tcpBulk,
		Listen: func(ctx context.Context, s Sockets) (Server, error) {
			return listenTCP(ctx, s, sinkTCP)
		},
		Dial: func(ctx context.Context, s Sockets, addr string) (Client, error) {
			c, err := dialTCP(ctx, s, addr)
			if err != nil {
				return nil, err
			}
			return &tcpStream{Conn: c, data: pattern(tcpBulk)}, nil
		},
	})
}

// sinkTCP reads runs: the number of bytes, 8 bytes big endian, and the bytes. It answers each with one byte.
func sinkTCP(c net.Conn) error {
	buf := make([]byte, tcpReadBuffer)
	for {
		if _, err := io.ReadFull(c, buf[:8]); err != nil {
			return err
		}
		for left := int(binary.BigEndian.Uint64(buf)); left > 0; {
			n, err := c.Read(buf[:min(left, len(buf))])
			if err != nil {
				return err
			}
			left -= n
		}
		if _, err := c.Write(buf[:1]); err != nil {
			return err
		}
	}
}

// tcpStream is the client of TCPStream.
type tcpStream struct {
	net.Conn
	data   []byte
	header [8]byte
}

// Run writes n times.
func (s *tcpStream) Run(n int, _ []time.Duration) error {
	binary.BigEndian.PutUint64(s.header[:], uint64(n)*tcpBulk)
	if _, err := s.Write(s.header[:]); err != nil {
		return err
	}
	for range n {
		if _, err := s.Write(s.data); err != nil {
			return err
		}
	}
	_, err := io.ReadFull(s.Conn, s.header[:1])
	return err
}
