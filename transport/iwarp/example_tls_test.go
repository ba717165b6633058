package iwarp_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"

	"github.com/rpcrdma/go-rpcrdma/internal/testcert"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// This runs iWARP over TLS: the listener is given TLS connections, and the dialer makes them.
func ExampleNewListener_tls() {
	certs, err := testcert.New()
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	cfg := iwarp.Config{CRC: iwarp.CRCOff} // TLS already detects changes

	below, err := tls.Listen("tcp", "127.0.0.1:0", certs.Server())
	if err != nil {
		log.Fatal(err)
	}
	l, err := iwarp.NewListener(below, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go serve(ctx, l)

	d := iwarp.Dialer{Config: cfg, DialContext: (&tls.Dialer{Config: certs.Client()}).DialContext}
	ep, err := d.Dial(ctx, l.Addr().String(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer ep.Close()
	box := newMailbox()
	ep.PostRecv(&transport.RecvRequest{Local: []transport.Slice{memory(ep, 12)}})
	ep.Start(box)
	ep.Post(&transport.WorkRequest{Op: transport.OpSend, Done: box})
	m := <-box.messages
	fmt.Println(m.Len, "bytes through TLS")
	// Output: 12 bytes through TLS
}
