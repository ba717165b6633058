package roce_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// A server listens at the address of a network interface and the port of a service, and a client
// connects to it.
func Example() {
	ctx := context.Background()
	l, err := roce.Listen(ctx, "192.0.2.1:20049", roce.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go func() {
		req, err := l.Accept(ctx)
		if err != nil {
			return
		}
		if _, err := req.Accept(ctx, nil); err != nil {
			log.Print(err)
		}
	}()

	ep, err := roce.Dialer{}.Dial(ctx, l.Addr().String(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer ep.Close()
	fmt.Println(ep.Info().RemoteAddr)
}
