package gateway

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestHostile: input that is not RPC ends the client's connection, or is ignored. Other clients are
// not affected.
func TestHostile(t *testing.T) {
	srv := nfsServer(t)
	g := start(t, Config{Dial: overRDMA(t, srv, rpcrdma.Config{})},
		recordmark.Config{MaxRecord: 1 << 20})
	null := message(nfsCall(5, nfs3.ProcNull, oncrpc.Auth{}), nil)
	lives := func(t *testing.T, s rawClient) {
		t.Helper()
		s.send(null)
		if got := s.next(); len(got) != 24 {
			t.Errorf("got reply %x", got)
		}
	}
	for _, tt := range []struct {
		name string
		send func(rawClient)
		ends bool
	}{
		{"nothing", func(rawClient) {}, false},
		{"an empty record", func(s rawClient) { s.send(nil) }, false},
		{"a word", func(s rawClient) { s.send([]byte("word")) }, false},
		{"a reply", func(s rawClient) { s.send(append([]byte{0, 0, 0, 9, 0, 0, 0, 1}, make([]byte, 100)...)) }, false},
		{"neither call nor reply", func(s rawClient) { s.send([]byte{0, 0, 0, 9, 0, 0, 0, 2}) }, false},
		{"a record of 2 GiB", func(s rawClient) { s.Write([]byte{0xff, 0xff, 0xff, 0xff}) }, true},
		{"empty fragments without end", func(s rawClient) { s.Write(make([]byte, 8<<10)) }, true},
		{"MPA", func(s rawClient) { s.Write([]byte("MPA ID Req Frame")) }, true},
		{"the end, within a record", func(s rawClient) {
			s.Write([]byte{0x80, 0, 1, 0, 1, 2, 3})
			s.Conn.(*net.TCPConn).CloseWrite()
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := dialRawClient(t, g.addr)
			tt.send(s)
			if tt.ends {
				if got := s.next(); got != nil {
					t.Errorf("got reply %x", got)
				}
				s = dialRawClient(t, g.addr)
			}
			lives(t, s)
		})
	}
}

// TestUnexpectedBulk: a reply with bulk data where its procedure has none is answered with
// SYSTEM_ERR. Without an answer the client would wait for ever.
func TestUnexpectedBulk(t *testing.T) {
	data := pattern(20000)
	replies := map[uint64][]uint32{ // by offset: what the data of a READ follows
		0: {uint32(nfs3.OK), 0, 20000, 1},    // no attributes, count, end of the file
		1: {uint32(nfs3.ErrIO), 0},           // an error has no data
		2: {uint32(nfs3.OK), 0, 20000},       // as if the length were the flag
		3: {uint32(nfs3.OK), 0, 20000, 1, 4}, // as if there were four bytes of data
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	srv.Handle(oncrpc.Program{Number: nfs3.Program, Version: nfs3.Version, Procedures: []oncrpc.Procedure{
		nfs3.ProcRead: {Name: "READ", Handler: func(_ context.Context, c *oncrpc.Call) error {
			var args nfs3.ReadArgs
			args.UnmarshalXDR(c.Args)
			for _, w := range replies[args.Offset] {
				c.Results.Uint32(w)
			}
			c.Results.BulkBytes(data, nil)
			return nil
		}},
	}})
	g := start(t, Config{Dial: overRDMA(t, srv, rpcrdma.Config{})}, recordmark.Config{})
	s := dialRawClient(t, g.addr)
	for _, offset := range []uint64{0, 1, 2, 3, 0} {
		xid := uint32(7 + offset)
		s.send(message(nfsCall(xid, nfs3.ProcRead, rootCred(t)),
			&nfs3.ReadArgs{File: nfs3.FH{}, Offset: offset, Count: 20000}))
		got := s.next()
		want := bytes.Join([][]byte{be32(xid, 1, 0, 0, 0, 0, 0, 0, 20000, 1, 20000), data}, nil)
		if offset > 0 {
			want = be32(xid, 1, 0, 0, 0, uint32(oncrpc.SystemErr))
		}
		if !bytes.Equal(got, want) {
			t.Errorf("reply %d: got %x, want %x", offset, cut(got), cut(want))
		}
	}
	if n := g.Stats().Failed; n != 3 {
		t.Errorf("%d failures are counted, want 3", n)
	}
}

// TestShortReply: a reply too short for an XID is answered with SYSTEM_ERR.
func TestShortReply(t *testing.T) {
	dial := overRDMA(t, nfsServer(t), rpcrdma.Config{})
	g := start(t, Config{Dial: func(ctx context.Context) (oncrpc.Transport, error) {
		conn, err := dial(ctx)
		return &shortened{Transport: conn}, err
	}}, recordmark.Config{})
	s := dialRawClient(t, g.addr)
	for n := range uint32(4) {
		s.send(message(nfsCall(n, nfs3.ProcNull, oncrpc.Auth{}), nil))
		if got, want := s.next(), be32(n, 1, 0, 0, 0, uint32(oncrpc.SystemErr)); !bytes.Equal(got, want) {
			t.Errorf("a reply of %d bytes: got %x, want %x", n, got, want)
		}
	}
}

// shortened is a connection whose first reply has no bytes, the second one, and so on.
type shortened struct {
	oncrpc.Transport
	replies atomic.Int32
}

func (c *shortened) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	if err := c.Transport.RoundTrip(ctx, x); err != nil {
		return err
	}
	x.Reply.Reset(x.Reply.Raw(int(c.replies.Add(1)-1)), nil)
	return nil
}

// be32 encodes words.
func be32(words ...uint32) (p []byte) {
	for _, w := range words {
		p = binary.BigEndian.AppendUint32(p, w)
	}
	return p
}
