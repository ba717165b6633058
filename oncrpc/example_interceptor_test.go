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

// tenant is the context key for what authorize found out.
type tenant struct{}

// authorize allows users whose group is that of a tenant.
func authorize(ctx context.Context, c *oncrpc.Call) (context.Context, error) {
	tenants := map[uint32]string{100: "red", 200: "blue"}
	cred, ok := c.Sys()
	if !ok || tenants[cred.GID] == "" {
		return nil, &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
	}
	return context.WithValue(ctx, tenant{}, tenants[cred.GID]), nil
}

// whoAmI returns the name of the caller's tenant.
func whoAmI(ctx context.Context, c *oncrpc.Call) error {
	c.Results.String(ctx.Value(tenant{}).(string), 20)
	return nil
}

// printed is an interceptor that prints who called what and how the call ended.
func printed(ctx context.Context, c *oncrpc.Call, next oncrpc.Handler) error {
	err := next(ctx, c)
	ended := "SUCCESS"
	if told := oncrpc.OutcomeForCaller(err); told != nil {
		ended = told.Error()
	}
	fmt.Printf("%v calls procedure %d: %s\n", c.Identity(), c.Procedure, ended)
	return err
}

// name is a string of at most 20 bytes.
type name string

func (n *name) UnmarshalXDR(d *xdr.Decoder) { *n = name(d.String(20)) }

// Authorize calls, and watch with an interceptor how they end.
func ExampleServerInterceptor() {
	ctx := context.Background()
	srv := oncrpc.NewServer(oncrpc.ServerConfig{
		Interceptors: []oncrpc.ServerInterceptor{printed},
		Admit: func(c oncrpc.ConnInfo) (release func(), err error) {
			if c.Host() != "127.0.0.1" {
				return nil, errors.New("from elsewhere")
			}
			return func() {}, nil
		},
	})
	err := srv.Handle(oncrpc.Program{Number: 400000, Version: 1, Authorize: authorize,
		Procedures: []oncrpc.Procedure{1: {Handler: whoAmI}}})
	if err != nil {
		log.Fatal(err)
	}
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
	for _, cred := range []oncrpc.SysCred{{UID: 1, GID: 100}, {UID: 2, GID: 300}} {
		auth, err := oncrpc.AuthSys(cred)
		if err != nil {
			log.Fatal(err)
		}
		client := oncrpc.NewClient(conn, 400000, 1, auth)
		var n name
		err = client.Call(ctx, 1, nil, &n)
		var denied *oncrpc.AuthError
		fmt.Println(n, errors.As(err, &denied))
		client.Call(ctx, 2, nil, nil)
	}
	// Output:
	// uid 1, gid 100 calls procedure 1: SUCCESS
	// red false
	// uid 1, gid 100 calls procedure 2: PROC_UNAVAIL
	// uid 2, gid 300 calls procedure 1: denied: AUTH_TOOWEAK
	//  true
	// uid 2, gid 300 calls procedure 2: PROC_UNAVAIL
}
