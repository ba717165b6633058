package faultnet_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// A client reaches its server over a slow network that cuts the connection in the middle of the
// answer.
func Example() {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	go func() {
		c, err := server.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.WriteString(c, "a long answer")
		io.Copy(io.Discard, c)
	}()

	var met faultnet.Counters
	network, err := faultnet.NewRelay(server.Addr().String(), faultnet.Config{
		Seed:     1,
		Up:       faultnet.Way{Delay: 10 * time.Millisecond},
		Down:     faultnet.Way{Bandwidth: 1e6, Jitter: time.Millisecond},
		OnLink:   func(l *faultnet.Link) { l.CutAt(faultnet.Down, 6, faultnet.FIN) },
		Counters: &met,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer network.Close()

	client, err := net.Dial("tcp", network.Addr())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	answer, err := io.ReadAll(client)
	fmt.Printf("%q %v, %d cut\n", answer, err, met.Cut.Load())
	// Output: "a long" <nil>, 1 cut
}

// A server's provider is wrapped. Completions come late, and memory is sometimes refused.
func ExampleProvider() {
	fabric := loopback.New()
	listener, err := fabric.Listen("server", loopback.Config{})
	if err != nil {
		log.Fatal(err)
	}
	faults := faultnet.NewProvider(faultnet.ProviderConfig{
		Seed: 1,
		Work: faultnet.Work{Hold: time.Millisecond, NoMemory: 0.01},
	})
	var faulty transport.Listener = faults.Listener(listener)
	defer faulty.Close()
	fmt.Println(faulty.Addr()) // and now rpcrdma.Serve
	// Output: server
}
