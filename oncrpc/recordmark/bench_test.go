package recordmark_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

const (
	benchProgram = 0x20000001
	benchVersion = 1
	procNull     = 0
	procRead     = 1
	procWrite    = 2
)

// data is bulk data, as arguments or results.
type data []byte

func (p data) MarshalXDR(e *xdr.Encoder)   { e.BulkBytes(p, nil) }
func (p data) UnmarshalXDR(d *xdr.Decoder) { d.BulkInto(p) }

// count is a number, as arguments or results.
type count struct{ n uint32 }

func (c *count) MarshalXDR(e *xdr.Encoder)   { e.Uint32(c.n) }
func (c *count) UnmarshalXDR(d *xdr.Decoder) { c.n = d.Uint32() }

func benchServer(tb testing.TB, cfg recordmark.Config) (*oncrpc.Server, string) {
	file := make([]byte, 1<<20)
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(oncrpc.Program{Name: "bench", Number: benchProgram, Version: benchVersion, Procedures: []oncrpc.Procedure{
		procRead: {Name: "READ", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			c.Results.BulkBytes(file[:min(int(c.Args.Uint32()), len(file))], nil)
			return nil
		}},
		procWrite: {Name: "WRITE", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			c.Results.Uint32(uint32(c.Args.Bulk(1 << 20).Len()))
			return nil
		}},
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- recordmark.Serve(context.Background(), l, srv, cfg) }()
	tb.Cleanup(func() {
		srv.Close()
		<-served
	})
	return srv, l.Addr().String()
}

func benchClient(tb testing.TB) *oncrpc.Client {
	_, addr := benchServer(tb, recordmark.Config{})
	conn, err := recordmark.Dial(context.Background(), addr, recordmark.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		conn.Close()
		<-conn.Done()
	})
	return oncrpc.NewClient(conn, benchProgram, benchVersion, oncrpc.AuthNone())
}

// BenchmarkCall measures calls over TCP on the loopback interface, both ends in this
// process.
func BenchmarkCall(b *testing.B) {
	for _, bb := range []struct {
		name  string
		bytes int
		call  func(*oncrpc.Client) error
	}{
		{"NULL", 0, func(c *oncrpc.Client) error {
			return c.Call(context.Background(), procNull, nil, nil)
		}},
		{"READ_4KiB", 4 << 10, reading(4 << 10)},
		{"READ_1MiB", 1 << 20, reading(1 << 20)},
		{"WRITE_1MiB", 1 << 20, writing(1 << 20)},
	} {
		for _, parallel := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", bb.name, parallel), func(b *testing.B) {
				c := benchClient(b)
				if err := bb.call(c); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(bb.bytes))
				b.ReportAllocs()
				var left atomic.Int64
				left.Store(int64(b.N))
				done := make(chan error, parallel)
				b.ResetTimer()
				for range parallel {
					go func() {
						for left.Add(-1) >= 0 {
							if err := bb.call(c); err != nil {
								done <- err
								return
							}
						}
						done <- nil
					}()
				}
				for range parallel {
					if err := <-done; err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func reading(n int) func(*oncrpc.Client) error {
	return func(c *oncrpc.Client) error {
		return c.Call(context.Background(), procRead, &count{uint32(n)}, discard{n})
	}
}

func writing(n int) func(*oncrpc.Client) error {
	p := make(data, n)
	return func(c *oncrpc.Client) error {
		var got count
		return c.Call(context.Background(), procWrite, p, &got)
	}
}

// discard receives bulk results and drops them.
type discard struct{ n int }

func (r discard) UnmarshalXDR(d *xdr.Decoder) { d.Bulk(r.n) }

// BenchmarkTLSHandshake measures handshakes with a server whose key is RSA of 2,048 bits, which
// costs most of the usual ones. Against BenchmarkCall/NULL/1 it shows how many reads a handshake
// costs.
func BenchmarkTLSHandshake(b *testing.B) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		b.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
	if err != nil {
		b.Fatal(err)
	}
	_, addr := benchServer(b, recordmark.Config{TLS: &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}})
	for b.Loop() {
		c, err := recordmark.Dial(b.Context(), addr, recordmark.Config{})
		if err != nil {
			b.Fatal(err)
		}
		err = c.RequestTLS(b.Context(), benchProgram, benchVersion,
			&tls.Config{InsecureSkipVerify: true})
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
		<-c.Done()
	}
}
