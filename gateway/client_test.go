package gateway

import (
	"context"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestClientAddr: a DialFunc, also of a route, learns for which client it dials.
func TestClientAddr(t *testing.T) {
	dial := overRDMA(t, nfsServer(t), rpcrdma.Config{})
	from := make(chan net.Addr, 2)
	told := func(ctx context.Context) (oncrpc.Transport, error) {
		from <- ClientAddr(ctx)
		return dial(ctx)
	}
	g := start(t, Config{
		Dial: told, Routes: map[uint32]Route{mount3.Program: {Dial: told}},
	}, recordmark.Config{})
	conn := dialTCP(t, g.addr)
	file(t, conn, nil)
	for range cap(from) {
		if a := <-from; a == nil || a.String() != conn.LocalAddr().String() {
			t.Errorf("dialled for %v, want %v", a, conn.LocalAddr())
		}
	}
	if a := ClientAddr(t.Context()); a != nil {
		t.Errorf("another context is for %v", a)
	}
}
