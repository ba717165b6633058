package roce_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/rdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// The addresses of the two processes.
var benchServer, benchClient = netip.MustParseAddr("127.253.71.102"), netip.MustParseAddr("127.253.71.103")

// udpStream is a Throughput scenario. The client sends 1 MiB at a time in UDP datagrams as large as
// RoCE's packets, fifteen in each system call, with 512 KiB in flight. The server reads them
// without looking, and reports how many bytes have come.
const udpStream = "udp/stream"

const (
	udpPacket = 12 + 4096 + 4 // a packet in the middle of an RDMA Write
	udpBulk   = 1 << 20
	udpWindow = 512 << 10
	udpAtOnce = 15
)

func init() {
	for _, p := range []rdma.Provider{
		{
			Name: "roce",
			Listen: func(ctx context.Context, _ paired.Sockets) (transport.Listener, error) {
				return roce.Listen(ctx, netip.AddrPortFrom(benchServer, 0).String(), roce.Config{})
			},
			Dialer: func(paired.Sockets) transport.Dialer {
				return roce.Dialer{Config: roce.Config{Local: benchClient}}
			},
		},
		{
			Name: "iwarp",
			Listen: func(ctx context.Context, s paired.Sockets) (transport.Listener, error) {
				return iwarp.Listen(ctx, "127.0.0.1:0", iwarp.Config{CRC: iwarp.CRCOn, Control: s.Control})
			},
			Dialer: func(s paired.Sockets) transport.Dialer {
				return iwarp.Dialer{Config: iwarp.Config{CRC: iwarp.CRCOn, Control: s.Control}}
			},
		},
	} {
		for _, s := range p.Scenarios() {
			paired.Register(s)
		}
	}
	paired.Register(paired.Scenario{
		Name: udpStream, Metric: paired.Throughput, Bytes: udpBulk,
		Listen: func(context.Context, paired.Sockets) (paired.Server, error) { return listenUDP() },
		Dial: func(_ context.Context, _ paired.Sockets, addr string) (paired.Client, error) {
			return dialUDP(addr)
		},
	})
}

func udpSocket(ctx context.Context) (*net.UDPConn, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		cerr := c.Control(func(fd uintptr) {
			err = errors.Join(
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<20),
				unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_GRO, 1))
		})
		return errors.Join(cerr, err)
	}}
	c, err := lc.ListenPacket(ctx, "udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return c.(*net.UDPConn), nil
}

type udpServer struct {
	conn *net.UDPConn
	over sync.WaitGroup
	err  error
}

func listenUDP() (*udpServer, error) {
	conn, err := udpSocket(context.Background())
	if err != nil {
		return nil, err
	}
	s := &udpServer{conn: conn}
	s.over.Go(func() {
		if err := s.serve(); !errors.Is(err, net.ErrClosed) {
			s.err = err
		}
	})
	return s, nil
}

func (s *udpServer) Addr() string { return s.conn.LocalAddr().String() }

func (s *udpServer) Close() error {
	s.conn.Close()
	s.over.Wait()
	return s.err
}

// serve tells the client after each system call how many bytes have come.
func (s *udpServer) serve() error {
	buf, oob := make([]byte, 1<<16), make([]byte, 64)
	var got uint64
	var answer [8]byte
	for {
		n, _, _, from, err := s.conn.ReadMsgUDPAddrPort(buf, oob)
		if err != nil {
			return err
		}
		got += uint64(n)
		binary.BigEndian.PutUint64(answer[:], got)
		if _, err := s.conn.WriteToUDPAddrPort(answer[:], from); err != nil {
			return err
		}
	}
}

type udpClient struct {
	conn      *net.UDPConn
	to        netip.AddrPort
	data, oob []byte
	sent, got uint64
}

func dialUDP(addr string) (*udpClient, error) {
	conn, err := udpSocket(context.Background())
	if err != nil {
		return nil, err
	}
	c := &udpClient{conn: conn, to: netip.MustParseAddrPort(addr), data: make([]byte, udpBulk)}
	for i := range c.data {
		c.data[i] = byte(i)
	}
	c.oob = make([]byte, unix.CmsgSpace(2))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&c.oob[0]))
	h.Level, h.Type = unix.SOL_UDP, unix.UDP_SEGMENT
	h.SetLen(unix.CmsgLen(2))
	binary.NativeEndian.PutUint16(c.oob[unix.CmsgLen(0):], udpPacket)
	return c, nil
}

func (c *udpClient) Run(n int, _ []time.Duration) error {
	for range n {
		for rest := c.data; len(rest) > 0; {
			m := min(len(rest), udpAtOnce*udpPacket)
			if _, _, err := c.conn.WriteMsgUDPAddrPort(rest[:m], c.oob, c.to); err != nil {
				return err
			}
			rest = rest[m:]
			c.sent += uint64(m)
			if err := c.await(udpWindow); err != nil {
				return err
			}
		}
	}
	return c.await(0)
}

// await waits until at most that many bytes are in flight.
func (c *udpClient) await(most uint64) error {
	var answer [1 << 10]byte
	for c.sent-c.got > most {
		n, err := c.conn.Read(answer[:])
		if err != nil {
			return err
		}
		c.got = binary.BigEndian.Uint64(answer[n-8:])
	}
	return nil
}

func (c *udpClient) Close() error { return c.conn.Close() }

// comparisons compare RoCE with raw UDP in packets of equal size, where it must reach at least 0.6
// of the throughput, and with iWARP with CRC, because RoCE always has one.
var comparisons = []paired.Comparison{
	{Yardstick: udpStream, Candidate: "roce/writes", Bound: 0.6, MaxAllocs: 0.05},
	{Yardstick: udpStream, Candidate: "roce/reads", MaxAllocs: 0.05},
	{Yardstick: "iwarp/writes", Candidate: "roce/writes"},
	{Yardstick: "iwarp/reads", Candidate: "roce/reads"},
	{Yardstick: "iwarp/pingpong", Candidate: "roce/pingpong", MaxAllocs: 0.05},
	{Yardstick: "iwarp/messages", Candidate: "roce/messages", MaxAllocs: 0.05},
}

// BenchmarkPaired compares the provider, in two processes; see package paired.
//
//	go test -run '^$' -bench Paired -benchtime 1x ./transport/roce
func BenchmarkPaired(b *testing.B) { paired.Bench(b, comparisons...) }

// TestPaired fails below the bounds, if BENCH_GATE is set.
func TestPaired(t *testing.T) { paired.Gate(t, comparisons...) }
