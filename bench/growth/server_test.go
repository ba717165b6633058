package growth

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"runtime"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// The program that is served.
const (
	program  = 400_000
	version  = 1
	procNull = 0
	procEcho = 1 // returns up to 1 KiB of arguments
)

// report is what the server reports about itself.
type report struct {
	Port        int
	Heap, Stack int64
}

// serve is the server. It reports when asked to, until its input ends.
func serve() error {
	o, err := options()
	if err != nil {
		return err
	}
	ctx := context.Background()
	l, err := iwarp.Listen(ctx, "0.0.0.0:0", iwarp.Config{Control: o.Sockets.Control})
	if err != nil {
		return err
	}
	go rpcrdma.Serve(ctx, l, newServer(), rpcrdma.Config{})

	ask, answer := json.NewDecoder(host.Stdin()), json.NewEncoder(os.Stdout)
	for {
		var collect bool
		if err := ask.Decode(&collect); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r := report{Port: l.Addr().(*net.TCPAddr).Port}
		if collect {
			r.Heap, r.Stack = memory()
		}
		if err := answer.Encode(r); err != nil {
			return err
		}
	}
}

// newServer returns a server of the program.
func newServer() *oncrpc.Server {
	s := oncrpc.NewServer(oncrpc.ServerConfig{MaxConns: 1 << 20})
	s.Handle(oncrpc.Program{Name: "growth", Number: program, Version: version, Procedures: []oncrpc.Procedure{
		procEcho: {Name: "ECHO", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			b := c.Args.Opaque(1 << 10)
			c.Results.Opaque(b, 1<<10)
			return nil
		}},
	}})
	return s
}

// memory returns the bytes of heap and stacks that the runtime holds for this process. It collects
// several times, because each collection shrinks stacks by half, and only the second empties a
// sync.Pool.
func memory() (heap, stack int64) {
	for range 5 {
		runtime.GC()
	}
	u := new(host.Meter).Used()
	return int64(u.Heap), int64(u.Stacks)
}
