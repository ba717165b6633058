package recordmark_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net"

	"github.com/rpcrdma/go-rpcrdma/internal/testcert"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// name is a result: string name<255>.
type name string

func (n *name) UnmarshalXDR(d *xdr.Decoder) { *n = name(d.String(255)) }

// Start TLS on a connection. The handler identifies the client by its certificate.
func ExampleConn_RequestTLS() {
	certs, err := testcert.New() // normally loaded from files: tls.LoadX509KeyPair
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(oncrpc.Program{Number: 0x20001234, Version: 1, Procedures: []oncrpc.Procedure{
		1: {Handler: func(_ context.Context, c *oncrpc.Call) error {
			state, ok := c.Conn.(*recordmark.Conn).TLS()
			if !ok || len(state.PeerCertificates) == 0 {
				return &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
			}
			c.Results.String(state.PeerCertificates[0].Subject.CommonName, 255)
			return nil
		}},
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := certs.Server()
	server.ClientAuth = tls.VerifyClientCertIfGiven
	go recordmark.Serve(ctx, l, srv, recordmark.Config{TLS: server})
	defer srv.Shutdown(ctx)

	conn, err := recordmark.Dial(ctx, l.Addr().String(), recordmark.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := certs.Client()
	client.Certificates = []tls.Certificate{certs.ClientCert}
	if err := conn.RequestTLS(ctx, 0x20001234, 1, client); err != nil {
		log.Fatal(err)
	}
	var who name
	err = oncrpc.NewClient(conn, 0x20001234, 1, oncrpc.AuthNone()).Call(ctx, 1, nil, &who)
	fmt.Println(who, err)
	// Output: client.test <nil>
}
