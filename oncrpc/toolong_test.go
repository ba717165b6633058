package oncrpc_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// longest is the maximum length in bytes of a message in these tests.
const longest = 64 << 10

// boundCarriers are both transports with the same limits, so that a message exceeds either both or
// none.
var boundCarriers = map[string]carrier{"TCP": boundTCP, "RDMA": boundRDMA}

func boundTCP(t *testing.T, s *oncrpc.Server) func(context.Context) (oncrpc.Transport, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serves(t, s, func() error {
		return recordmark.Serve(context.Background(), l, s, recordmark.Config{Logger: quiet})
	})
	return func(ctx context.Context) (oncrpc.Transport, error) {
		return recordmark.Dial(ctx, l.Addr().String(),
			recordmark.Config{Logger: quiet, MaxRecord: longest, EnforceMaxReply: true})
	}
}

func boundRDMA(t *testing.T, s *oncrpc.Server) func(context.Context) (oncrpc.Transport, error) {
	f := loopback.New()
	l, err := f.Listen("server", loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	serves(t, s, func() error {
		return rpcrdma.Serve(context.Background(), l, s, rpcrdma.Config{Logger: quiet})
	})
	return func(ctx context.Context) (oncrpc.Transport, error) {
		cfg := rpcrdma.Config{InlineSend: 1024, InlineRecv: 1024, MaxMessage: longest}
		cfg.Logger = quiet
		return rpcrdma.Dial(ctx, f.Dialer(loopback.Config{}), "server", cfg)
	}
}

// payload is text and bulk items, as arguments, or as results with buffers for the items.
type payload struct {
	text  []byte
	items [][]byte
	into  [][]byte // nil to ignore the items
}

func (p *payload) MarshalXDR(e *xdr.Encoder) {
	e.Opaque(p.text, len(p.text))
	for _, b := range p.items {
		e.BulkBytes(b, nil)
	}
}

func (p *payload) UnmarshalXDR(d *xdr.Decoder) {
	p.text = bytes.Clone(d.Opaque(1 << 20))
	p.items = nil
	for i := 0; d.Remaining() > 0 && d.Err() == nil; i++ {
		if i < len(p.into) {
			p.items = append(p.items, d.BulkInto(p.into[i]))
		} else {
			d.Bulk(1 << 20)
			p.items = append(p.items, nil)
		}
	}
}

// sized is a payload that says how much room its text and items need.
type sized struct {
	payload
	most int
}

func (s *sized) ReplyRoom(results [][]byte) (int, [][]byte) {
	return s.most, append(results, s.into...)
}

// Calls and replies that are too long fail with the same error over both transports, and the
// connection stays usable.
func TestTooLong(t *testing.T) {
	const header, callHeader = 24, 40 // of a reply and of a call with AUTH_NONE
	text := func(n int) *payload { return &payload{text: make([]byte, n)} }
	bulk := func(n int, items ...int) *payload {
		p := text(n)
		for _, n := range items {
			p.items = append(p.items, bytes.Repeat([]byte{9}, n))
		}
		return p
	}
	room := func(sizes ...int) (into [][]byte) {
		for _, n := range sizes {
			into = append(into, make([]byte, n))
		}
		return into
	}
	tooLong := func(n, most int) error { return &oncrpc.ReplyTooLongError{Len: n, Max: most} }
	for _, tt := range []struct {
		name     string
		args     oncrpc.Marshaler
		results  *payload // nil to call a version that the server lacks
		maxReply int
		into     [][]byte
		own      bool // the reply says how much room it needs
		mac      bool
		want     error
	}{
		{name: "reply that just fits", results: text(5000), maxReply: 5004},
		{name: "reply that just fits with its round-up", results: text(4999), maxReply: 5004},
		{name: "MaxReply is rounded up", results: text(4999), maxReply: 5003},
		{name: "reply of a word too much", results: text(5000),
			maxReply: 5000, want: tooLong(header+5004, header+5000)},
		{name: "reply where MaxReply was forgotten", results: text(5000),
			want: tooLong(header+5004, header+oncrpc.DefaultMaxReply)},
		{name: "data that just fits", results: bulk(100, 5000), maxReply: 108, into: room(5000)},
		{name: "data that just fits, with its round-up", results: bulk(100, 4999),
			maxReply: 108, into: room(4999)},
		{name: "data beside a text of a word too much", results: bulk(4100, 5000),
			maxReply: 4104, into: room(5000),
			want: tooLong(header+4104+5004, header+4104+5000)},
		{name: "data of a word too much", results: bulk(100, 5004), maxReply: 108, into: room(5000),
			want: tooLong(header+108+5004, header+108+5000)},
		{name: "data that no buffer is named for", results: bulk(100, 5000, 5000),
			maxReply: 112, into: room(5000),
			want: tooLong(header+112+10_000, header+112+5000)},
		{name: "several items", results: bulk(100, 5000, 10, 3000),
			maxReply: 116, into: room(5000, 10, 3000)},
		{name: "reply that says its own room", results: bulk(2000, 5000, 3000),
			maxReply: 2012, into: room(5000, 3000), own: true},
		{name: "reply that says its own room, with the default",
			results: bulk(500, 5000), into: room(5000), own: true},
		{name: "reply that says too little", results: bulk(2000, 5000),
			maxReply: 2000, into: room(5000), own: true,
			want: tooLong(header+2008+5000, header+2000+5000)},
		{name: "a flavour that places nothing", results: bulk(100, 5000),
			maxReply: 108, into: room(5000), mac: true},
		{name: "a flavour that places nothing, a reply that says its own room",
			results: bulk(100, 5000), maxReply: 108,
			into: room(5000), own: true, mac: true},
		{name: "a flavour that places nothing, a word too much", results: bulk(104, 5000),
			maxReply: 108, into: room(5000), mac: true,
			want: tooLong(header+macSlack+112+5000, header+macSlack+108+5000)},
		{name: "an error longer than MaxReply", maxReply: 1},

		{name: "longest call", args: text(longest - callHeader - 4), results: text(0)},
		{name: "call of a word too much", args: text(longest - callHeader), results: text(0),
			want: &oncrpc.CallTooLongError{Len: longest + 4, Max: longest}},
		{name: "call with data of a word too much", args: bulk(0, longest-callHeader-4),
			results: text(0),
			want:    &oncrpc.CallTooLongError{Len: longest + 4, Max: longest}},
		{name: "most room for a reply", results: text(0), maxReply: longest - header},
		{name: "too much room for a reply", results: text(0), maxReply: longest - header + 1,
			want: &oncrpc.ReplyTooLongError{Len: longest + 4, Max: longest, NotSent: true}},
		{name: "a reply that says it needs too much", results: text(0),
			maxReply: 2 * longest, own: true,
			want: &oncrpc.ReplyTooLongError{Len: 2*longest + header, Max: longest, NotSent: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, over := range boundCarriers {
				t.Run(name, func(t *testing.T) {
					var calls atomic.Int32
					ms := &macServer{keys: map[string]string{"alice": "secret"}}
					answer := func(_ context.Context, c *oncrpc.Call) error {
						calls.Add(1)
						tt.results.MarshalXDR(c.Results)
						return nil
					}
					s := newServer(t, macConfig(ms), oncrpc.Procedure{Handler: answer})
					conn := connect(t, over(t, s))
					flavor := oncrpc.AuthNone()
					if tt.mac {
						flavor = &macClient{name: "alice", key: "secret"}
					}
					version := uint32(testVersion)
					if tt.results == nil {
						version++
					}
					c := oncrpc.NewClient(conn, testProgram, version, flavor)
					reply := &sized{payload{into: tt.into}, tt.maxReply}
					r := &oncrpc.Request{Procedure: 1, Args: tt.args, Reply: reply}
					if !tt.own {
						r.Reply, r.MaxReply, r.Results = &reply.payload, tt.maxReply, tt.into
					}
					for range 2 {
						calls.Store(0)
						err := c.Do(t.Context(), r)
						switch {
						case tt.results == nil:
							var accept *oncrpc.AcceptError
							if !errors.As(err, &accept) || accept.Stat != oncrpc.ProgMismatch {
								t.Errorf("got %v, want PROG_MISMATCH", err)
							}
						case tt.want != nil:
							sameTooLong(t, err, tt.want, calls.Load(), name == "RDMA")
						case err != nil:
							t.Error(err)
						case !bytes.Equal(reply.text, tt.results.text):
							t.Errorf("got a text of %d bytes", len(reply.text))
						case !slices.EqualFunc(reply.items, tt.results.items, bytes.Equal):
							t.Errorf("got %d items that differ", len(reply.items))
						}
					}
					null := oncrpc.NewClient(conn, testProgram, testVersion, flavor)
					if err := null.Call(t.Context(), 0, nil, nil); err != nil {
						t.Errorf("the next call: %v", err)
					}
				})
			}
		})
	}
}

// sameTooLong checks the error of a call that was executed a number of times.
func sameTooLong(t *testing.T, err, want error, calls int32, overRDMA bool) {
	t.Helper()
	var call *oncrpc.CallTooLongError
	var reply *oncrpc.ReplyTooLongError
	var peer *rpcrdma.PeerError
	is, sent := false, false
	switch want := want.(type) { //nolint:errorlint // the value comes from the table
	case *oncrpc.CallTooLongError:
		is = errors.As(err, &call) && *call == *want
	case *oncrpc.ReplyTooLongError:
		w := *want
		sent = !w.NotSent
		if sent && overRDMA { // the server does not tell the length
			w.Len = 0
		}
		is = errors.As(err, &reply) && *reply == w
	}
	if !is {
		t.Errorf("got %v, want %v", err, want)
	}
	if (calls > 0) != sent {
		t.Errorf("executed %d times; was it to be sent? %v", calls, sent)
	}
	if got := errors.As(err, &peer); got != (sent && overRDMA) {
		t.Errorf("%v: is it that of an RDMA_ERROR? %v", err, got)
	}
	if errors.Is(err, net.ErrClosed) {
		t.Errorf("%v: the connection has not ended", err)
	}
}
