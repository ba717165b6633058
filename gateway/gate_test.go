package gateway

import (
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// testProgram is a program of the tests.
const testProgram = 0x20000003

// testCall is a call of testProgram.
func testCall(xid, procedure uint32) []byte {
	return message(oncrpc.CallHeader{XID: xid, RPCVersion: oncrpc.Version, Program: testProgram, Version: 1, Procedure: procedure}, nil)
}

// gate is a procedure that waits until it is opened, or its connection ends.
type gate struct {
	entered chan uint32 // transaction ids
	open    chan struct{}
}

func newGate() *gate { return &gate{make(chan uint32, 100), make(chan struct{})} }

// next returns the transaction id of the next call.
func (g *gate) next(t *testing.T) uint32 {
	t.Helper()
	return hang.Receive(t, "a call to reach the server", g.entered)
}

func (g *gate) handle(ctx context.Context, c *oncrpc.Call) error {
	g.entered <- c.XID
	select {
	case <-g.open:
		c.Results.Uint32(c.XID)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gateServer returns a server whose procedure 1 waits, and whose procedure 2 returns a number of
// bytes.
func gateServer(g *gate) *oncrpc.Server {
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	srv.Handle(oncrpc.Program{Name: "test", Number: testProgram, Version: 1, Procedures: []oncrpc.Procedure{
		1: {Name: "WAIT", Handler: g.handle},
		2: {Name: "GIVE", Handler: func(_ context.Context, c *oncrpc.Call) error {
			c.Results.Opaque(make([]byte, c.Args.Uint32()), 1<<30)
			return nil
		}},
	}})
	return srv
}

// granted returns a connection to a gateway whose connection to the server has had a reply. Before
// that there is only one credit.
func granted(t *testing.T, g *servedGateway) rawClient {
	t.Helper()
	s := dialRawClient(t, g.addr)
	s.send(testCall(1000, 0))
	if got := s.next(); len(got) != 24 {
		t.Fatalf("got reply %x", got)
	}
	return s
}
