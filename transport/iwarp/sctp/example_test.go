package sctp_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// This runs package iwarp over SCTP. Both connections of the dialer are streams of one association.
func Example() {
	ctx := context.Background()
	// Any UDP port will do.
	below, err := sctp.Listen(ctx, "127.0.0.1:20049", sctp.Config{UDPPort: -1})
	if err != nil {
		log.Fatal(err)
	}
	l, err := iwarp.NewListener(below, iwarp.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	served := make(chan transport.Endpoint)
	go func() {
		for range 2 {
			req, err := l.Accept(ctx)
			if err != nil {
				log.Fatal(err)
			}
			ep, err := req.Accept(ctx, nil)
			if err != nil {
				log.Fatal(err)
			}
			served <- ep
		}
	}()

	d, err := sctp.NewDialer(sctp.Config{UDPPort: int(below.Addr().(sctp.Addr).UDPPort)})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close(ctx) // waits until associations have ended
	dialer := iwarp.Dialer{DialContext: d.DialContext}
	for range 2 {
		ep, err := dialer.Dial(ctx, l.Addr().String(), nil)
		if err != nil {
			log.Fatal(err)
		}
		defer ep.Close()
		defer (<-served).Close()
		fmt.Println(ep.Info().RemoteAddr.Network(), ep.Info().RemoteAddr)
	}
	// Output:
	// sctp 127.0.0.1:20049
	// sctp 127.0.0.1:20049
}
