package recordmark_test

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

const (
	testProgram = 0x20000002
	testVersion = 3
)

// quiet discards the log of tests with faults.
var quiet = slog.New(slog.DiscardHandler)

// server returns a server of testProgram whose procedures from 1 on are handlers.
func server(t *testing.T, handlers ...oncrpc.Handler) *oncrpc.Server {
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	t.Cleanup(func() { srv.Close() })
	p := oncrpc.Program{Name: "test", Number: testProgram, Version: testVersion,
		Procedures: make([]oncrpc.Procedure, 1)}
	for _, h := range handlers {
		p.Procedures = append(p.Procedures, oncrpc.Procedure{Handler: h})
	}
	srv.Handle(p)
	return srv
}

// echo returns its bulk argument.
func echo(ctx context.Context, c *oncrpc.Call) error {
	p, done, err := c.Args.Bulk(1 << 22).Take(ctx)
	if err != nil {
		return err
	}
	c.Results.BulkBytes(p, done)
	return nil
}

// newConn makes a connection of conn.
func newConn(t *testing.T, conn net.Conn, cfg recordmark.Config) *recordmark.Conn {
	t.Helper()
	c, err := recordmark.NewConn(conn, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pipe returns both ends of an in-memory connection without a buffer: a Write lasts until it is
// read.
func pipe(t *testing.T, a, b recordmark.Config) (*recordmark.Conn, *recordmark.Conn) {
	t.Helper()
	x, y := net.Pipe()
	ca, cb := newConn(t, x, a), newConn(t, y, b)
	t.Cleanup(func() {
		ca.Close()
		cb.Close()
		hang.Receive(t, "the end of the connection", ca.Done())
		hang.Receive(t, "the end of the connection", cb.Done())
	})
	return ca, cb
}

// newRawPeer returns a connection whose peer is scripted by the test.
func newRawPeer(t *testing.T, cfg recordmark.Config) (*recordmark.Conn, rawPeer) {
	t.Helper()
	x, y := net.Pipe()
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	c := newConn(t, x, cfg)
	t.Cleanup(func() {
		c.Close()
		y.Close()
		hang.Receive(t, "the end of the connection", c.Done())
	})
	return c, rawPeer{t, y}
}

// rawPeer is the scripted end of a connection: the test reads and writes records byte by byte.
type rawPeer struct {
	t *testing.T
	net.Conn
}

// bytes reads n bytes.
func (r rawPeer) bytes(n int) []byte {
	r.t.Helper()
	p := make([]byte, n)
	if _, err := io.ReadFull(r, p); err != nil {
		r.t.Fatal(err)
	}
	return p
}

// record reads a record of one fragment.
func (r rawPeer) record() []byte {
	r.t.Helper()
	mark := binary.BigEndian.Uint32(r.bytes(4))
	if mark < 1<<31 {
		r.t.Fatalf("mark %08x is not that of a last fragment", mark)
	}
	return r.bytes(int(mark - 1<<31))
}

// send writes a record of one fragment.
func (r rawPeer) send(p []byte) {
	r.t.Helper()
	if _, err := r.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(p))|1<<31), p...)); err != nil {
		r.t.Fatal(err)
	}
}

// call sends a call without arguments.
func (r rawPeer) call(xid, procedure uint32) {
	r.t.Helper()
	r.send(callMessage(xid, procedure).Inline)
}

// reply sends a reply whose results are one word.
func (r rawPeer) reply(xid, result uint32) {
	r.t.Helper()
	r.send(words(xid, 1, 0, 0, 0, 0, result))
}

func words(ws ...uint32) []byte {
	var p []byte
	for _, w := range ws {
		p = binary.BigEndian.AppendUint32(p, w)
	}
	return p
}

func callMessage(xid, procedure uint32) xdr.Message {
	h := oncrpc.CallHeader{XID: xid, RPCVersion: oncrpc.Version, Program: testProgram,
		Version: testVersion, Procedure: procedure}
	var e xdr.Encoder
	h.Encode(&e)
	return e.Message()
}

// exchange returns a call with bulk arguments.
func exchange(bulk []byte) *oncrpc.Exchange {
	h := oncrpc.CallHeader{RPCVersion: oncrpc.Version, Program: testProgram, Version: testVersion,
		Procedure: 1}
	var e xdr.Encoder
	h.Encode(&e)
	e.BulkBytes(bulk, nil)
	return &oncrpc.Exchange{Call: e.Message()}
}

// scribble overwrites the memory of a call that has ended. The race detector then finds goroutines
// that still read it.
func scribble(x *oncrpc.Exchange) {
	clear(x.Call.Inline)
	for _, it := range x.Call.Bulk {
		for _, p := range it.Data {
			clear(p)
		}
	}
}

// result is a reply of one word.
type result struct{ word uint32 }

func (r *result) UnmarshalXDR(d *xdr.Decoder) { r.word = d.Uint32() }

func client(c *recordmark.Conn) *oncrpc.Client {
	return oncrpc.NewClient(c, testProgram, testVersion, oncrpc.AuthNone())
}
