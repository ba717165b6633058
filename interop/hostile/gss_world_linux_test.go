package hostile_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// The program of a realm. Procedure 1 returns its argument.
const (
	gssProgram = 400001
	gssVersion = 1
	gssEcho    = 1
)

// realm is a server that requires RPCSEC_GSS, over RDMA and TCP sockets. Making a context takes two
// rounds. The server has low limits, so it is exhausted soon.
type realm struct {
	t *testing.T
	*site
	mechanism *gsstest.Mechanism
	flavor    *gss.ServerFlavor
	ahead     atomic.Int64 // of the server's clock

	mu   sync.Mutex // guards what follows
	seen [][]byte   // arguments of procedure 1
}

const (
	gssContexts = 64
	gssWorkers  = 4
)

func newRealm(t *testing.T) *realm {
	r := &realm{t: t, mechanism: &gsstest.Mechanism{Secret: []byte("secret"), Rounds: 2}}
	r.flavor = gss.NewServerFlavor(gss.ServerConfig{
		Acceptor: r.mechanism.Acceptor(), Logger: quiet, MaxContexts: gssContexts,
		Now: func() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) },
	})
	srv := oncrpc.NewServer(oncrpc.ServerConfig{
		Logger: quiet, MaxConcurrent: gssWorkers, Flavors: []oncrpc.ServerFlavor{r.flavor},
	})
	err := srv.Handle(oncrpc.Program{Number: gssProgram, Version: gssVersion,
		Procedures: []oncrpc.Procedure{gssEcho: {Handler: r.echo}}})
	if err != nil {
		t.Fatal(err)
	}
	rdma, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.site = &site{
		rdma: rdma.Addr().String(), tcp: tcp.Addr().String(), dialer: dialFrom, net: loopbackNet + ".0",
		limits: limits{maxRecord: recordmark.DefaultMaxRecord},
	}
	var ended sync.WaitGroup
	for _, serve := range []func() error{
		func() error {
			return rpcrdma.Serve(context.Background(), rdma, srv, rpcrdma.Config{Logger: quiet})
		},
		func() error {
			return recordmark.Serve(context.Background(), tcp, srv, recordmark.Config{Logger: quiet})
		},
	} {
		ended.Go(func() {
			if err := serve(); !errors.Is(err, oncrpc.ErrServerClosed) {
				t.Errorf("Serve: %v", err)
			}
		})
	}
	t.Cleanup(func() {
		srv.Close()
		ended.Wait()
	})
	return r
}

// echo returns its argument and records it.
func (r *realm) echo(ctx context.Context, c *oncrpc.Call) error {
	b, err := c.Args.Bulk(1 << 20).Bytes(ctx)
	if err != nil {
		return err
	}
	b = bytes.Clone(b)
	r.mu.Lock()
	r.seen = append(r.seen, b)
	r.mu.Unlock()
	c.Results.BulkBytes(b, nil)
	return nil
}

// executed returns the recorded arguments of procedure 1, and forgets them.
func (r *realm) executed() (args [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	args, r.seen = r.seen, nil
	return args
}

// textArg is the argument and the result of procedure 1.
type textArg []byte

func (a textArg) MarshalXDR(e *xdr.Encoder)    { e.BulkBytes(a, nil) }
func (a *textArg) UnmarshalXDR(d *xdr.Decoder) { *a = bytes.Clone(d.Opaque(1 << 20)) }

// citizen is a good client of a realm, with a connection and one context.
type citizen struct {
	*oncrpc.Client
	name  string
	begun atomic.Int32 // contexts
	sent  *tap         // nil over RDMA
}

// counting is an initiator that counts contexts.
type counting struct {
	gss.Initiator
	c *citizen
}

func (i counting) Initiate(ctx context.Context, service string) (gss.Negotiation, error) {
	i.c.begun.Add(1)
	return i.Initiator.Initiate(ctx, service)
}

// tap records the data written to a connection.
type tap struct {
	net.Conn
	mu      sync.Mutex // guards what follows
	records [][]byte
}

func (c *tap) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.records = append(c.records, bytes.Clone(b))
	c.mu.Unlock()
	return c.Conn.Write(b)
}

// taken returns the data written.
func (c *tap) taken() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := bytes.Join(c.records, nil)
	c.records = nil
	return b
}

// joins connects a client from a host.
func (r *realm) joins(host, way string, service gss.Service) *citizen {
	r.t.Helper()
	c := &citizen{name: host + " over " + way}
	var conn oncrpc.Transport
	var err error
	if way == "TCP" {
		below, e := dialFrom(host)(r.t.Context(), "tcp", r.tcp)
		if e != nil {
			r.t.Fatal(e)
		}
		c.sent = &tap{Conn: below}
		conn, err = recordmark.NewConn(c.sent, recordmark.Config{Logger: quiet})
	} else {
		d := iwarp.Dialer{Config: iwarp.Config{Logger: quiet}, DialContext: dialFrom(host)}
		conn, err = rpcrdma.Dial(r.t.Context(), d, r.rdma, rpcrdma.Config{Logger: quiet})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		conn.Close()
		<-conn.Done()
	})
	c.Client = oncrpc.NewClient(conn, gssProgram, gssVersion, gss.NewClientFlavor(gss.ClientConfig{
		Initiator: counting{r.mechanism.Initiator(host + "@TEST"), c}, Target: "test@server",
		Service: service,
	}))
	return c
}

// work makes n calls with each client.
func work(t *testing.T, n int, all ...*citizen) {
	t.Helper()
	var group sync.WaitGroup
	for _, c := range all {
		group.Go(func() {
			for i := range n {
				arg := textArg(bytes.Repeat([]byte{byte(i)}, 1+i*97))
				var back textArg
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				err := c.Do(ctx, &oncrpc.Request{
					Procedure: gssEcho, Args: arg, Reply: &back, MaxReply: 64 << 10,
				})
				cancel()
				if err != nil || !bytes.Equal(arg, back) {
					t.Errorf("%s, call %d: %d bytes of %d, %v", c.name, i, len(back), len(arg), err)
					return
				}
			}
		})
	}
	group.Wait()
}

// heap returns the allocated bytes.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
