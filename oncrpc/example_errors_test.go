package oncrpc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// explain says what the error of a call means.
func explain(err error) string {
	var answer *oncrpc.AcceptError
	var denied *oncrpc.AuthError
	var tooLong *oncrpc.ReplyTooLongError
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &answer):
		return "answered: " + answer.Error() // PROG_UNAVAIL, GARBAGE_ARGS, SYSTEM_ERR, ...
	case errors.As(err, &denied):
		return denied.Error() // other credentials may help
	case errors.As(err, &tooLong):
		return "executed, unless NotSent: " + tooLong.Error() // ask for more room
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "perhaps executed: no answer in time" // the connection is still good
	case errors.Is(err, net.ErrClosed):
		return "perhaps executed: the connection has ended" // dial again
	}
	return err.Error()
}

// The errors of a call wrap the reason.
func ExampleCallError() {
	ctx := context.Background()
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(oncrpc.Program{Number: 400000, Version: 1, Procedures: []oncrpc.Procedure{
		0: {},
		1: {Handler: func(ctx context.Context, _ *oncrpc.Call) error {
			<-ctx.Done() // until the connection ends
			return ctx.Err()
		}},
		2: {Handler: func(context.Context, *oncrpc.Call) error {
			return &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
		}},
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go recordmark.Serve(ctx, l, srv, recordmark.Config{})
	defer srv.Close()
	conn, err := recordmark.Dial(ctx, l.Addr().String(), recordmark.Config{})
	if err != nil {
		log.Fatal(err)
	}
	client := oncrpc.NewClient(conn, 400000, 1, oncrpc.AuthNone())
	fmt.Println(explain(client.Call(ctx, 0, nil, nil)))
	expired, cancel := context.WithTimeout(ctx, time.Second) // in which any machine sends the call
	defer cancel()
	fmt.Println(explain(client.Call(expired, 1, nil, nil)))
	fmt.Println(explain(client.Call(ctx, 2, nil, nil)))
	fmt.Println(explain(client.Call(ctx, 3, nil, nil)))
	conn.Close()
	fmt.Println(explain(client.Call(ctx, 0, nil, nil)))
	// Output:
	// done
	// perhaps executed: no answer in time
	// denied: AUTH_TOOWEAK
	// answered: PROC_UNAVAIL
	// perhaps executed: the connection has ended
}
