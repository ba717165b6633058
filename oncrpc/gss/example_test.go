package gss_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// greeting is a result: string greeting<100>.
type greeting string

func (g *greeting) UnmarshalXDR(d *xdr.Decoder) { *g = greeting(d.String(100)) }

// Serve a program that requires at least a checksum and greets its callers. This mechanism is for
// tests; package krb5 has one for Kerberos.
func Example() {
	ctx := context.Background()
	mechanism := &gsstest.Mechanism{Secret: []byte("open sesame")}

	srv := oncrpc.NewServer(oncrpc.ServerConfig{Flavors: []oncrpc.ServerFlavor{
		gss.NewServerFlavor(gss.ServerConfig{Acceptor: mechanism.Acceptor()}),
	}})
	err := srv.Handle(oncrpc.Program{
		Number: 400000, Version: 1,
		Authorize: func(_ context.Context, c *oncrpc.Call) (context.Context, error) {
			caller, ok := c.Identity().(*gss.Caller)
			if !ok || caller.Service < gss.Integrity {
				return nil, &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
			}
			return nil, nil
		},
		Procedures: []oncrpc.Procedure{1: {Handler: func(_ context.Context, c *oncrpc.Call) error {
			c.Results.String(fmt.Sprintf("hello, %v", c.Identity()), 100)
			return nil
		}}},
	})
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
	for _, service := range []gss.Service{gss.None, gss.Integrity, gss.Privacy} {
		flavor := gss.NewClientFlavor(gss.ClientConfig{
			Initiator: mechanism.Initiator("alice@EXAMPLE.ORG"),
			Target:    "greeter@server.example.org",
			Service:   service,
		})
		client := oncrpc.NewClient(conn, 400000, 1, flavor)
		var g greeting
		if err := client.Call(ctx, 1, nil, &g); err != nil {
			fmt.Println(service, err.(*oncrpc.CallError).Err)
		} else {
			fmt.Println(service, g)
		}
		if err := flavor.Close(ctx, client); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// none denied: AUTH_TOOWEAK
	// integrity hello, alice@EXAMPLE.ORG
	// privacy hello, alice@EXAMPLE.ORG
}
