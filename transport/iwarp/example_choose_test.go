package iwarp_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// A listener that also accepts RDMA Consortium peers, and decides what each connection is like when
// it has seen the request.
func ExampleConfig_choose() {
	ctx := context.Background()
	cfg := iwarp.Config{
		RNIC: mpa.Permissive,
		Choose: func(_ net.Addr, r *mpa.Request, c *mpa.Config) error {
			if r.Markers() {
				c.Markers = mpa.MarkersOn // also for peers that want markers
			}
			return nil // an error would refuse the peer
		},
	}
	fmt.Printf("%+v\n", cfg.Capabilities())
	l, err := iwarp.Listen(ctx, "127.0.0.1:0", cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			req, err := l.Accept(ctx)
			if err != nil {
				return
			}
			ep, err := req.Accept(ctx, nil)
			if err != nil {
				log.Fatal(err)
			}
			defer ep.Close()
		}
	}()
	for _, dialing := range []iwarp.Config{{}, {Markers: mpa.MarkersOn}, {RNIC: mpa.RDMAC}} {
		ep, err := iwarp.Dialer{Config: dialing}.Dial(ctx, l.Addr().String(), nil)
		if err != nil {
			log.Fatal(err)
		}
		s, _ := iwarp.SetupOf(ep)
		fmt.Printf("revision %d, version %d, markers in %t, out %t, CRC %t\n", s.Revision, s.Version, s.MarkersIn, s.MarkersOut, s.CRC)
		ep.Close()
	}
	// Output:
	// {Markers:false Version:1 Selectable:true}
	// revision 2, version 1, markers in false, out false, CRC false
	// revision 2, version 1, markers in true, out true, CRC false
	// revision 0, version 0, markers in true, out true, CRC true
}
