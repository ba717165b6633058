package gss_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// data is bulk data, as arguments and as results.
type data struct{ data, into []byte }

func (b *data) MarshalXDR(e *xdr.Encoder)   { e.BulkBytes(b.data, nil) }
func (b *data) UnmarshalXDR(d *xdr.Decoder) { b.data = d.BulkInto(b.into) }

// bulkProgram has three procedures: 1 takes data, 2 returns as much as requested, 3 does both.
func bulkProgram() oncrpc.Program {
	pattern := bytes.Repeat([]byte("read me "), 1<<17+1)
	return oncrpc.Program{Number: 2, Version: 1, Procedures: []oncrpc.Procedure{
		1: {Handler: func(ctx context.Context, c *oncrpc.Call) error {
			got, err := c.Args.Bulk(1<<20 + 100).Bytes(ctx)
			c.Results.Uint32(uint32(bytes.Count(got, []byte{'w'})))
			return err
		}},
		2: {Handler: func(_ context.Context, c *oncrpc.Call) error {
			c.Results.BulkBytes(pattern[:c.Args.Uint32()], nil)
			return nil
		}},
		3: {Handler: func(ctx context.Context, c *oncrpc.Call) error {
			got, err := c.Args.Bulk(1<<20 + 100).Bytes(ctx)
			c.Results.BulkBytes(got, nil)
			return err
		}},
	}}
}

// wire records what goes over a connection: the headers of RPC-over-RDMA, and the bytes moved by
// RDMA.
type wire struct {
	mu            sync.Mutex // guards the fields below
	sends         [][]byte
	read, written int
}

func (w *wire) Executed(_ bool, wr *transport.WorkRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	var b []byte
	for _, s := range wr.Local {
		n += len(s.Bytes)
		if wr.Op == transport.OpSend || wr.Op == transport.OpSendInvalidate {
			b = append(b, s.Bytes...)
		}
	}
	switch wr.Op {
	case transport.OpRead:
		w.read += n
	case transport.OpWrite:
		w.written += n
	default:
		if b != nil {
			w.sends = append(w.sends, b)
		}
	}
}

func (w *wire) Ended() {}

// shape describes the type and the lists of a call or a reply (RFC 8166 section 3.4).
func shape(b []byte) string {
	d := xdr.NewDecoder(b[12:])
	s := fmt.Sprintf("%d", d.Uint32())
	last := ^uint32(0)
	for d.Uint32() == 1 {
		switch position := d.Uint32(); {
		case position == last: // another segment
		case position == 0:
			s, last = s+" position-zero", position
		default:
			s, last = s+" read", position
		}
		d.Raw(16)
	}
	for d.Uint32() == 1 {
		s += " write"
		d.Raw(16 * int(d.Uint32()))
	}
	if d.Uint32() == 1 {
		s += " reply"
	}
	return s
}

// loop makes a connection to a server.
func loop(t *testing.T, s *oncrpc.Server, server, client rpcrdma.Config) (*rpcrdma.Conn, *wire) {
	t.Helper()
	server.Logger, client.Logger = quiet, quiet
	f, w := loopback.New(), &wire{}
	f.Observe(func(_, _ transport.Info) loopback.Observer { return w })
	l, err := f.Listen("server", loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(context.Background(), l, s, server) }()
	c, err := rpcrdma.Dial(t.Context(), f.Dialer(loopback.Config{}), "server", client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		<-c.Done()
		s.Close()
		<-served
	})
	return c, w
}

// With the service None, bulk data is moved by RDMA. With the others, it is not: whole messages go
// as position-zero read chunk and reply chunk (RFC 8166 section 8.2.2.3).
func TestPlacement(t *testing.T) {
	const size = 1 << 20
	for _, tt := range []struct {
		service                  gss.Service
		write, read, both, token string // shapes of the calls
	}{
		{gss.None, "0 read", "0 write", "0 read write", "0"},
		{gss.Integrity, "1 position-zero", "0 reply", "1 position-zero reply", "0"},
		{gss.Privacy, "1 position-zero", "0 reply", "1 position-zero reply", "0"},
	} {
		t.Run(tt.service.String(), func(t *testing.T) {
			m := secret(gsstest.Mechanism{TokenLen: 5000})
			s, _ := newServer(t, gss.ServerConfig{Acceptor: m.Acceptor()}, bulkProgram())
			conn, w := loop(t, s, rpcrdma.Config{}, rpcrdma.Config{})
			f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m.Initiator("alice@TEST"), Target: "test@server", Service: tt.service})
			c := oncrpc.NewClient(conn, 2, 1, f)
			buf := bytes.Repeat([]byte("write it "), size/9+1)[:size]
			into := make([]byte, size)

			var n number
			if err := c.Call(t.Context(), 1, &data{data: buf}, &n); err != nil || int(n) != bytes.Count(buf, []byte{'w'}) {
				t.Errorf("write: %d, %v", n, err)
			}
			res := data{into: into}
			err := c.Do(t.Context(), &oncrpc.Request{Procedure: 2, Args: number(size), Reply: &res, MaxReply: 4, Results: [][]byte{into}})
			if err != nil || len(res.data) != size || !bytes.HasSuffix(res.data, []byte("read me ")) {
				t.Errorf("read: %d bytes, %v", len(res.data), err)
			}
			if placed := &res.data[0] == &into[0]; !placed {
				t.Error("results are not where they shall be")
			}
			res = data{into: into}
			err = c.Do(t.Context(), &oncrpc.Request{Procedure: 3, Args: &data{data: buf}, Reply: &res, MaxReply: 4, Results: [][]byte{into}})
			if err != nil || !bytes.Equal(res.data, buf) {
				t.Errorf("both: %d bytes, %v", len(res.data), err)
			}

			w.mu.Lock()
			defer w.mu.Unlock()
			// The token is long, so it goes as a long message with room for a long reply, and
			// nothing is reduced.
			if len(w.sends) != 8 {
				t.Fatalf("%d Sends", len(w.sends))
			}
			for i, want := range []string{"1 position-zero reply", tt.write, tt.read, tt.both} {
				if got := shape(w.sends[2*i]); got != want {
					t.Errorf("call %d: %s, want %s", i, got, want)
				}
			}
			// RDMA moves all data once.
			if most := 2*size + 20_000; w.read < 2*size || w.read > most || w.written < 2*size || w.written > most {
				t.Errorf("%d bytes read, %d written", w.read, w.written)
			}
		})
	}
}

// Messages of the maximum length work in either direction, over both transports. One unit more is
// an error of the call, and the connection stays usable.
func TestLongest(t *testing.T) {
	const longest = 1 << 20
	for _, service := range []gss.Service{gss.None, gss.Integrity, gss.Privacy} {
		for _, carrier := range []string{"TCP", "RDMA"} {
			t.Run(service.String()+"/"+carrier, func(t *testing.T) {
				m := secret(gsstest.Mechanism{})
				s, sf := newServer(t, gss.ServerConfig{Acceptor: m.Acceptor()}, bulkProgram())
				var conn oncrpc.Transport
				if carrier == "RDMA" {
					conn, _ = loop(t, s, rpcrdma.Config{MaxMessage: longest}, rpcrdma.Config{MaxMessage: longest})
				} else {
					conn = dialTCP(t, s, recordmark.Config{MaxRecord: longest, EnforceMaxReply: true, Logger: quiet})
				}
				f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m.Initiator("alice@TEST"), Target: "test@server", Service: service})
				c := oncrpc.NewClient(conn, 2, 1, f)
				var n number
				if err := c.Call(t.Context(), 1, &data{}, &n); err != nil { // makes the context
					t.Fatal(err)
				}
				// For a call: header with credential and handle, verifier. For both: what the
				// service adds.
				const mic = 4 + 24 // 21 bytes
				around := map[gss.Service]int{gss.None: 0, gss.Integrity: 4 + 4 + mic, gss.Privacy: 4 + 16 + 4 + 21}[service]
				call := longest - (24 + 8 + 20 + 16 + 4 + mic + around + 4)
				reply := longest - (12 + 4 + mic + 4 + around + 4)
				call, reply = call&^3, reply&^3
				var tooLong *oncrpc.CallTooLongError
				var noRoom *oncrpc.ReplyTooLongError
				for range 2 {
					if err := c.Call(t.Context(), 1, &data{data: make([]byte, call)}, &n); err != nil {
						t.Errorf("longest call: %v", err)
					}
					if err := c.Call(t.Context(), 1, &data{data: make([]byte, call+1)}, &n); !errors.As(err, &tooLong) {
						t.Errorf("call of a byte more: %v", err)
					}
					sizes := []int{reply, reply + 1}
					// with data moved separately, the limit differs
					if service == gss.None {
						sizes = sizes[:1]
					}
					for _, size := range sizes {
						into := make([]byte, size)
						res := data{into: into}
						err := c.Do(t.Context(), &oncrpc.Request{Procedure: 2, Args: number(size), Reply: &res, MaxReply: 4, Results: [][]byte{into}})
						if size == reply && (err != nil || len(res.data) != size) {
							t.Errorf("longest reply: %d bytes, %v", len(res.data), err)
						} else if size != reply && !errors.As(err, &noRoom) {
							t.Errorf("reply of a byte more: %v", err)
						}
					}
				}
				if got := sf.Stats(); got != (gss.ServerStats{Contexts: 1, Made: 1}) {
					t.Errorf("%+v", got)
				}
			})
		}
	}
}

func dialTCP(t *testing.T, s *oncrpc.Server, cfg recordmark.Config) oncrpc.Transport {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- recordmark.Serve(context.Background(), l, s, cfg) }()
	c, err := recordmark.Dial(t.Context(), l.Addr().String(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		<-c.Done()
		s.Close()
		<-served
	})
	return c
}
