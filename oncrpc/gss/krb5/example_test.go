package krb5_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// Serve with the keys of nfs/server.example.org. The KDC vouches for the callers.
func ExampleAcceptor() {
	ctx := context.Background()
	acceptor, err := krb5.NewAcceptor(krb5.AcceptorConfig{
		Keytab:    "/etc/krb5.keytab",
		Principal: "nfs/server.example.org",
	})
	if err != nil {
		log.Fatal(err)
	}
	flavor := gss.NewServerFlavor(gss.ServerConfig{Acceptor: acceptor})
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Flavors: []oncrpc.ServerFlavor{flavor}})
	srv.Handle(oncrpc.Program{Number: 0x20001235, Version: 1, Procedures: []oncrpc.Procedure{
		1: {Handler: func(_ context.Context, c *oncrpc.Call) error {
			caller, ok := c.Identity().(*gss.Caller)
			if !ok || caller.Service != gss.Privacy {
				return &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
			}
			fmt.Println("called by", caller.Principal) // alice@EXAMPLE.ORG
			return nil
		}},
	}})
	l, err := net.Listen("tcp", ":20490")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(recordmark.Serve(ctx, l, srv, recordmark.Config{}))
}

// Call as the user who has run kinit, with all arguments and results encrypted.
func ExampleInitiator() {
	ctx := context.Background()
	initiator, err := krb5.NewInitiator(krb5.InitiatorConfig{})
	if err != nil {
		log.Fatal(err)
	}
	conn, err := recordmark.Dial(ctx, "server.example.org:20490", recordmark.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	flavor := gss.NewClientFlavor(gss.ClientConfig{
		Initiator: initiator, Target: "nfs@server.example.org", Service: gss.Privacy,
	})
	if err := oncrpc.NewClient(conn, 0x20001235, 1, flavor).Call(ctx, 1, nil, nil); err != nil {
		log.Fatal(err)
	}
}
