package oncrpc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// A program has a version, procedures, and a number from the range that RFC 5531 section 8.3 leaves
// to everybody.
const (
	mathProgram = 0x20001234
	mathVersion = 1
	procAverage = 1
)

// numbers are the arguments of AVERAGE: int numbers<100>.
type numbers []int32

func (n numbers) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(uint32(len(n)))
	for _, v := range n {
		e.Int32(v)
	}
}

// average is the result of AVERAGE: hyper average.
type average struct{ v int64 }

func (a *average) UnmarshalXDR(d *xdr.Decoder) { a.v = d.Int64() }

func handleAverage(_ context.Context, c *oncrpc.Call) error {
	n := c.Args.Count(100, 4)
	if n == 0 {
		return oncrpc.ErrGarbageArgs
	}
	sum := int64(0)
	for range n {
		sum += int64(c.Args.Int32())
	}
	c.Results.Int64(sum / int64(n))
	return nil
}

// Serve and call a program over TCP.
func Example() {
	ctx := context.Background()
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(oncrpc.Program{
		Name: "math", Number: mathProgram, Version: mathVersion,
		Procedures: []oncrpc.Procedure{
			procAverage: {Name: "AVERAGE", Handler: handleAverage, NonBlocking: true},
		},
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- recordmark.Serve(ctx, l, srv, recordmark.Config{}) }()

	conn, err := recordmark.Dial(ctx, l.Addr().String(), recordmark.Config{})
	if err != nil {
		log.Fatal(err)
	}
	client := oncrpc.NewClient(conn, mathProgram, mathVersion, oncrpc.AuthNone())

	var avg average
	if err := client.Call(ctx, procAverage, numbers{40, 41, 45}, &avg); err != nil {
		log.Fatal(err)
	}
	fmt.Println("average:", avg.v)

	var refused *oncrpc.AcceptError
	err = client.Call(ctx, procAverage, numbers{}, &avg)
	fmt.Println("of nothing:", errors.As(err, &refused), refused)

	srv.Shutdown(ctx)
	fmt.Println(<-served)
	// Output:
	// average: 42
	// of nothing: true GARBAGE_ARGS
	// oncrpc: server closed
}
