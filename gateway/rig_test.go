package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

// tooLong is how long a test waits for an event before it reports which one is missing.
const tooLong = hang.Patience

// ends waits until f has returned.
func ends(tb testing.TB, what string, f func()) {
	tb.Helper()
	end := make(chan struct{})
	go func() {
		defer close(end)
		f()
	}()
	hang.Receive(tb, "the end of "+what, end)
}

// limited is a context for calls that are to be answered.
func limited(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeoutCause(tb.Context(), tooLong,
		fmt.Errorf("not answered within %v", tooLong))
	tb.Cleanup(cancel)
	return ctx
}

// nfsServer returns a server of a file system in memory, exported as "/".
func nfsServer(tb testing.TB) *oncrpc.Server {
	tb.Helper()
	fs, err := memfs.New(memfs.Config{Capacity: 1 << 30})
	if err != nil {
		tb.Fatal(err)
	}
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}, Logger: quiet})
	if err != nil {
		tb.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	srv.Handle(nfs.Programs()...)
	return srv
}

// overRDMA serves srv over RDMA until the test ends, and returns what connects to it.
func overRDMA(tb testing.TB, srv *oncrpc.Server, cfg rpcrdma.Config) DialFunc {
	tb.Helper()
	l, err := iwarp.Listen(tb.Context(), "127.0.0.1:0", iwarp.Config{Logger: quiet})
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Logger = quiet
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(context.Background(), l, srv, cfg) }()
	tb.Cleanup(func() {
		srv.Close()
		hang.Receive(tb, "the end of rpcrdma.Serve", served)
	})
	return func(ctx context.Context) (oncrpc.Transport, error) {
		cfg := cfg
		cfg.MaxMessage = cmp.Or(cfg.MaxMessage, 8<<20)
		return rpcrdma.Dial(ctx, iwarp.Dialer{}, l.Addr().String(), cfg)
	}
}

// overTCP serves srv over TCP until the test ends, and returns the address.
func overTCP(tb testing.TB, srv *oncrpc.Server, cfg recordmark.Config) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Logger = quiet
	served := make(chan error, 1)
	go func() { served <- recordmark.Serve(context.Background(), l, srv, cfg) }()
	tb.Cleanup(func() {
		srv.Close()
		if err := hang.Receive(tb, "the end of recordmark.Serve", served); !errors.Is(err, oncrpc.ErrServerClosed) {
			tb.Error(err)
		}
	})
	return l.Addr().String()
}

// servedGateway is a gateway that clients reach at an address.
type servedGateway struct {
	*Gateway
	server *oncrpc.Server // of the clients
	addr   string
}

// start starts a gateway, which ends with the test.
func start(tb testing.TB, cfg Config, tcp recordmark.Config) *servedGateway {
	tb.Helper()
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	gateway, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	g := &servedGateway{Gateway: gateway}
	g.pause = time.Millisecond
	g.server = oncrpc.NewServer(oncrpc.ServerConfig{Forward: g.Forward, Logger: quiet})
	tb.Cleanup(func() { ends(tb, "Gateway.Close", func() { g.Close() }) })
	g.addr = overTCP(tb, g.server, tcp)
	return g
}

// dialTCP connects until the test ends.
func dialTCP(tb testing.TB, addr string) *recordmark.Conn {
	tb.Helper()
	c, err := recordmark.Dial(tb.Context(), addr,
		recordmark.Config{EnforceMaxReply: true, Logger: quiet, MaxRecord: 16 << 20})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		c.Close()
		hang.Receive(tb, "the end of a connection", c.Done())
	})
	return c
}

// rootFlavor is what presents rootCred.
func rootFlavor(tb testing.TB) oncrpc.ClientFlavor {
	f, err := oncrpc.FixedCred(rootCred(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func rootCred(tb testing.TB) oncrpc.Auth {
	tb.Helper()
	cred, err := (&oncrpc.SysCred{Machine: "client"}).Auth()
	if err != nil {
		tb.Fatal(err)
	}
	return cred
}

// file makes a file with data over a connection, and returns its handle and that of the root.
func file(tb testing.TB, conn oncrpc.Transport,
	data []byte) (c *nfsclient.Client, root, h nfs3.FH) {
	tb.Helper()
	ctx := limited(tb)
	c = nfsclient.New(conn, rootFlavor(tb))
	root, err := c.Mount(ctx, "/")
	if err != nil {
		tb.Fatal(err)
	}
	o, err := c.Create(ctx, root, "file", nfs3.CreateHow{Set: nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o600}}})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := c.Write(ctx, o.File, 0, data, nfs3.FileSync); err != nil {
		tb.Fatal(err)
	}
	return c, root, o.File
}

// pattern is n bytes that differ from place to place.
func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return p
}

// rawClient is a TCP connection on which a test writes and reads records itself.
type rawClient struct {
	tb testing.TB
	net.Conn
}

func dialRawClient(tb testing.TB, addr string) rawClient {
	tb.Helper()
	return dialRawClientFrom(tb, new(net.TCPAddr), addr)
}

func dialRawClientFrom(tb testing.TB, from net.Addr, addr string) rawClient {
	tb.Helper()
	c, err := (&net.Dialer{LocalAddr: from}).Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return rawClient{tb, c}
}

func (s rawClient) send(p []byte) {
	s.tb.Helper()
	b := binary.BigEndian.AppendUint32(nil, 1<<31|uint32(len(p)))
	if _, err := s.Write(append(b, p...)); err != nil {
		s.tb.Fatal(err)
	}
}

// next returns the next record, nil at the end of the stream.
func (s rawClient) next() []byte {
	s.tb.Helper()
	s.SetReadDeadline(time.Now().Add(tooLong))
	var rec []byte
	for {
		var mark [4]byte
		if _, err := io.ReadFull(s, mark[:]); err != nil {
			return s.ended(err)
		}
		n := binary.BigEndian.Uint32(mark[:])
		p := make([]byte, n&^(1<<31))
		if _, err := io.ReadFull(s, p); err != nil {
			return s.ended(err)
		}
		if rec = append(rec, p...); n>>31 == 1 {
			return rec
		}
	}
}

// ended is next at the end of the stream.
func (s rawClient) ended(err error) []byte {
	s.tb.Helper()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.tb.Fatalf("waited %v for a reply", tooLong)
	}
	return nil
}

// message encodes a call with arguments.
func message(h oncrpc.CallHeader, args oncrpc.Marshaler) []byte {
	var e xdr.Encoder
	h.Encode(&e)
	if args != nil {
		args.MarshalXDR(&e)
	}
	m := e.Message()
	return m.AppendTo(nil)
}

// nfsCall is the header of a call of NFS.
func nfsCall(xid uint32, p nfs3.Proc, cred oncrpc.Auth) oncrpc.CallHeader {
	return oncrpc.CallHeader{XID: xid, RPCVersion: oncrpc.Version, Program: nfs3.Program,
		Version: nfs3.Version, Procedure: uint32(p), Cred: cred}
}

// recorder notes how calls are handed to the connections of a Dial.
type recorder struct {
	dial DialFunc

	mu    sync.Mutex // guards what follows
	conn  oncrpc.Transport
	calls []handed
}

// handed is what a transport received.
type handed struct {
	xid      uint32
	inline   int
	bulk     []int
	results  []int
	maxReply int
}

// Dial connects.
func (r *recorder) Dial(ctx context.Context) (oncrpc.Transport, error) {
	conn, err := r.dial(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn = conn
	return recorded{conn, r}, err
}

// last returns the latest connection and the calls so far.
func (r *recorder) last() (oncrpc.Transport, []handed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conn, r.calls
}

// recorded is a connection that records its calls.
type recorded struct {
	oncrpc.Transport
	in *recorder
}

func (c recorded) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	h := handed{xid: x.XID, inline: len(x.Call.Inline), maxReply: x.MaxReply}
	for _, it := range x.Call.Bulk {
		h.bulk = append(h.bulk, it.Len)
	}
	for _, p := range x.Results {
		h.results = append(h.results, len(p))
	}
	c.in.mu.Lock()
	c.in.calls = append(c.in.calls, h)
	c.in.mu.Unlock()
	return c.Transport.RoundTrip(ctx, x)
}

// same compares two replies but for their transaction ids.
func same(tb testing.TB, got, want []byte) {
	tb.Helper()
	if len(got) < 4 || len(want) < 4 || !bytes.Equal(got[4:], want[4:]) {
		tb.Errorf("got reply %x\nwant %x", cut(got), cut(want))
	}
}

func cut(p []byte) []byte { return p[:min(len(p), 200)] }
