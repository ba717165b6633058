package oncrpc_test

import (
	"context"
	"encoding/binary"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// tcpIncoming has an address like those of TCP connections, and discards the reply.
type tcpIncoming struct {
	quietIncoming
	from tcpEnd
}

type tcpEnd struct {
	*fakeConn
	peer net.TCPAddr
}

func (e *tcpEnd) RemoteAddr() net.Addr { return &e.peer }

func (in *tcpIncoming) Conn() oncrpc.Transport { return &in.from }

// Finding a kept reply does not allocate, and keeping one reuses the memory of an older one, also
// for calls with bulk data. The test counts over a thousand calls, because memory is allocated for
// many at a time.
func TestOnceAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("pools lose things on purpose under the race detector")
	}
	const calls = 1000
	in := &tcpIncoming{quietIncoming: quietIncoming{incoming{t: t}}}
	in.conn, _ = connection(t)
	in.from = tcpEnd{fakeConn: in.conn, peer: net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 700}}
	chunks := []xdr.Chunk{{Len: 4, Source: fourBytes{}}}
	for _, tt := range []struct {
		name string
		next uint32 // added to the transaction id for each call
		data bool
	}{
		{"the same call", 0, false},
		{"another call", 1, false},
		{"the same call with data", 0, true},
		{"another call with data", 1, true},
	} {
		var n counter
		s := newServer(t, oncrpc.ServerConfig{ReplyMemory: 8 * kept}, oncrpc.Procedure{
			Once: true, NonBlocking: true,
			Handler: func(ctx context.Context, c *oncrpc.Call) error {
				if b := c.Args.Bulk(4); b.FetchInto(ctx, fetched) != nil {
					return oncrpc.ErrDrop
				}
				return n.handle(ctx, c)
			}})
		d := oncrpc.DispatcherOf(s).For(&in.from.peer)
		call := callBytes(1, 1, 4, 0)
		if tt.data {
			call = call[:len(call)-4]
			chunks[0].Position = len(call)
		}
		got := testing.AllocsPerRun(20, func() { // the first call fills the pools
			for range calls {
				binary.BigEndian.PutUint32(call, binary.BigEndian.Uint32(call)+tt.next)
				in.args.Reset(call, nil)
				if tt.data {
					in.args.Reset(call, chunks)
				}
				d.Dispatch(in)
			}
		})
		if got > 1 {
			t.Errorf("%s: %v allocations in %d calls", tt.name, got, calls)
		}
		if want := tt.next != 0; (n.Load() > 1) != want {
			t.Errorf("%s: %d executions", tt.name, n.Load())
		}
	}
}

// fetched is where the data goes.
var fetched = [][]byte{make([]byte, 4)}

// fourBytes is a source of four bytes.
type fourBytes struct{}

func (fourBytes) Fetch(_ context.Context, _, _ int, _ [][]byte, w xdr.BulkWatcher) error {
	w.Arrived(fetched[0])
	return nil
}

func (fourBytes) Load(context.Context, int, int, bool, xdr.BulkWatcher) ([]byte, xdr.Releaser,
	error) {
	return fetched[0], nil, nil
}
