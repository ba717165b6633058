package iwarp_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/pion/logging"
	pion "github.com/pion/sctp"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/rdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// pionStream is a Throughput scenario. The client sends 1 MiB at a time by pion/sctp over UDP, as
// unordered messages that each fill a packet; the server reads them all and confirms the end. MTU,
// window and socket buffers are those of package sctp.
const pionStream = "pion/stream"

const (
	pionMTU     = 8000
	pionMessage = pionMTU - 28 // bytes
	pionBulk    = 1 << 20
	pionBuffer  = 4 << 20
)

func init() {
	p := rdma.Provider{
		Name: "sctp",
		Listen: func(ctx context.Context, _ paired.Sockets) (transport.Listener, error) {
			below, err := sctp.Listen(ctx, "127.0.0.1:20049", sctp.Config{UDPPort: -1})
			if err != nil {
				return nil, err
			}
			l, err := iwarp.NewListener(below, iwarp.Config{})
			return byUDP{l, below.Addr().(sctp.Addr)}, err
		},
		Dialer: func(paired.Sockets) transport.Dialer { return sctpDialer{} },
	}
	for _, s := range p.Scenarios() {
		paired.Register(s)
	}
	paired.Register(paired.Scenario{
		Name: pionStream, Metric: paired.Throughput, Bytes: pionBulk,
		Listen: func(context.Context, paired.Sockets) (paired.Server, error) { return listenPion() },
		Dial: func(_ context.Context, _ paired.Sockets, addr string) (paired.Client, error) {
			return dialPion(addr)
		},
	})
}

// byUDP is a listener whose address is the UDP port: a scenario passes only an address.
type byUDP struct {
	*iwarp.Listener
	addr sctp.Addr
}

func (n byUDP) Addr() net.Addr {
	return net.UDPAddrFromAddrPort(netip.AddrPortFrom(n.addr.IP, n.addr.UDPPort))
}

// sctpDialer dials a byUDP listener.
type sctpDialer struct{}

func (sctpDialer) MaxPrivateData() int { return iwarp.Dialer{}.MaxPrivateData() }

func (sctpDialer) Dial(ctx context.Context, addr string, prepare transport.Preparation) (
	transport.Endpoint, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	d, err := sctp.NewDialer(sctp.Config{UDPPort: int(at.Port())})
	if err != nil {
		return nil, err
	}
	return iwarp.Dialer{DialContext: d.DialContext}.Dial(ctx, "127.0.0.1:20049", prepare)
}

func pionOptions(conn net.Conn) []pion.ClientOption {
	log := logging.NewDefaultLoggerFactory()
	log.Writer = io.Discard
	return []pion.ClientOption{
		pion.WithNetConn(conn), pion.WithMTU(pionMTU), pion.WithMaxReceiveBufferSize(sctp.DefaultWindow),
		pion.WithEnableInterleaving(false), pion.WithLoggerFactory(log), pion.WithBlockWrite(true),
	}
}

// pionServer serves one client.
type pionServer struct {
	conn *net.UDPConn
	over sync.WaitGroup
	err  error
}

func listenPion() (*pionServer, error) {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	conn.SetReadBuffer(pionBuffer)
	s := &pionServer{conn: conn}
	s.over.Go(func() {
		if err := s.serve(); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
			s.err = err
		}
	})
	return s, nil
}

func (s *pionServer) Addr() string { return s.conn.LocalAddr().String() }

func (s *pionServer) Close() error {
	s.conn.Close()
	s.over.Wait()
	return s.err
}

// unconnected is a UDP socket with one peer, which sends first.
type unconnected struct {
	*net.UDPConn
	peer netip.AddrPort
}

func (u *unconnected) Read(p []byte) (int, error) {
	n, from, err := u.ReadFromUDPAddrPort(p)
	u.peer = from
	return n, err
}

func (u *unconnected) Write(p []byte) (int, error) { return u.WriteToUDPAddrPort(p, u.peer) }

// serve reads runs: the number of bytes, in a message of 8 bytes, and the bytes.
func (s *pionServer) serve() error {
	options := pionOptions(&unconnected{UDPConn: s.conn})
	var server []pion.ServerOption
	for _, o := range options {
		server = append(server, o.(pion.ServerOption))
	}
	a, err := pion.ServerWithOptions(server...)
	if err != nil {
		return err
	}
	defer a.Close()
	stream, err := a.AcceptStream()
	if err != nil {
		return err
	}
	stream.SetReliabilityParams(true, pion.ReliabilityTypeReliable, 0)
	buf := make([]byte, 1<<16)
	want, got := -1, 0
	for {
		n, err := stream.Read(buf)
		if err != nil {
			return err
		}
		if n == 8 {
			want = int(binary.BigEndian.Uint64(buf))
		} else {
			got += n
		}
		if got == want {
			want, got = -1, 0
			if _, err := stream.Write(buf[:1]); err != nil {
				return err
			}
		}
	}
}

// pionClient is the client of pionStream.
type pionClient struct {
	assoc  *pion.Association
	stream *pion.Stream
	data   []byte
}

func dialPion(addr string) (*pionClient, error) {
	conn, err := net.Dial("udp", addr)
	if err != nil {
		return nil, err
	}
	conn.(*net.UDPConn).SetReadBuffer(pionBuffer)
	a, err := pion.ClientWithOptions(pionOptions(conn)...)
	if err != nil {
		return nil, err
	}
	s, err := a.OpenStream(0, 0)
	if err != nil {
		return nil, err
	}
	s.SetReliabilityParams(true, pion.ReliabilityTypeReliable, 0)
	return &pionClient{a, s, make([]byte, pionBulk)}, nil
}

// Run sends n times.
func (c *pionClient) Run(n int, _ []time.Duration) error {
	if _, err := c.stream.Write(binary.BigEndian.AppendUint64(nil, uint64(n)*pionBulk)); err != nil {
		return err
	}
	for range n {
		for rest := c.data; len(rest) > 0; {
			m := min(len(rest), pionMessage)
			if len(rest)-m == 8 {
				m--
			}
			if _, err := c.stream.Write(rest[:m]); err != nil {
				return err
			}
			rest = rest[m:]
		}
	}
	_, err := c.stream.Read(make([]byte, 8))
	return err
}

func (c *pionClient) Close() error { return c.assoc.Close() }

// sctpComparisons compare SCTP with pion/sctp alone, where it must reach at least 0.8 of the
// throughput, and with iWARP over TCP, to help users choose.
var sctpComparisons = []paired.Comparison{
	// pion/sctp makes some twenty allocations for each packet.
	{Yardstick: pionStream, Candidate: "sctp/writes", Bound: 0.8, MaxAllocs: 3000},
	{Yardstick: "iwarp+crc/writes", Candidate: "sctp/writes"},
	{Yardstick: "iwarp+crc/reads", Candidate: "sctp/reads"},
	{Yardstick: "iwarp/pingpong", Candidate: "sctp/pingpong"},
	{Yardstick: "iwarp/messages", Candidate: "sctp/messages"},
}

// BenchmarkSCTP compares the provider over SCTP, in two processes; see package paired.
//
//	go test -run '^$' -bench SCTP -benchtime 1x ./transport/iwarp
func BenchmarkSCTP(b *testing.B) { paired.Bench(b, sctpComparisons...) }

// TestPairedSCTP fails below the bounds, if BENCH_GATE is set.
func TestPairedSCTP(t *testing.T) { paired.Gate(t, sctpComparisons...) }
