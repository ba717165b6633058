package oncrpc_test

import (
	"encoding/binary"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// tcpIncoming comes from an address as transports over TCP have them, and forgets the reply.
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

// To find a reply costs no memory, and to keep one takes that of an older one, or next to none.
func TestOnceAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("pools lose things on purpose under the race detector")
	}
	var n counter
	s := newServer(t, oncrpc.ServerConfig{ReplyMemory: 8 * kept},
		oncrpc.Procedure{Handler: n.handle, NonBlocking: true, Once: true})
	in := &tcpIncoming{quietIncoming: quietIncoming{incoming{t: t}}}
	in.conn, _ = connection(t)
	in.from = tcpEnd{fakeConn: in.conn, peer: net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 700}}
	call := callBytes(1, 1)
	for _, tt := range []struct {
		name string
		next uint32 // what is added to the transaction id from call to call
		max  float64
	}{
		{"the same call", 0, 0},
		{"another call", 1, 0},
	} {
		got := allocsPerCall(func() {
			binary.BigEndian.PutUint32(call, binary.BigEndian.Uint32(call)+tt.next)
			in.args.Reset(call, nil)
			oncrpc.DispatcherOf(s).Dispatch(in)
		})
		if got > tt.max {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, got, tt.max)
		}
	}
}
