package oncrpc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// Call as a user of this host, and identify the caller in the handler. The server must trust the
// client, because AUTH_SYS proves nothing.
func ExampleAuthSys() {
	ctx := context.Background()
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(oncrpc.Program{Number: 0x20001235, Version: 1, Procedures: []oncrpc.Procedure{
		1: {Handler: func(_ context.Context, c *oncrpc.Call) error {
			sys, ok := c.Sys()
			if !ok {
				return &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
			}
			fmt.Println("called by", sys.UID, sys.GID, sys.GIDs)
			return nil
		}},
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go recordmark.Serve(ctx, l, srv, recordmark.Config{})
	defer srv.Shutdown(ctx)

	conn, err := recordmark.Dial(ctx, l.Addr().String(), recordmark.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "workstation", UID: 1000, GID: 100, GIDs: []uint32{10}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(oncrpc.NewClient(conn, 0x20001235, 1, cred).Call(ctx, 1, nil, nil))
	var denied *oncrpc.AuthError
	if errors.As(oncrpc.NewClient(conn, 0x20001235, 1, oncrpc.AuthNone()).Call(ctx, 1, nil, nil), &denied) {
		fmt.Println(denied)
	}
	// Output:
	// called by 1000 100 [10]
	// <nil>
	// denied: AUTH_TOOWEAK
}
