package trace_test

import (
	"fmt"
	"log"
	"net"
	"os"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// A program traces everything that it sends and receives.
func Example() {
	file, err := os.OpenFile("/tmp/program.pcap", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	w, err := trace.New(file, trace.Config{
		Max:   64 << 20,
		Ended: func(err error) { log.Printf("no more is traced: %v", err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close() // before the file is

	// iWARP over TCP: accepted and dialled connections.
	below, err := net.Listen("tcp", ":20049")
	if err != nil {
		log.Fatal(err)
	}
	listener, err := iwarp.NewListener(w.Listener(below), iwarp.Config{})
	if err != nil {
		log.Fatal(err)
	}
	dialer := iwarp.Dialer{DialContext: w.DialContext(new(net.Dialer).DialContext)}

	// iWARP over SCTP.
	overSCTP, err := sctp.NewDialer(sctp.Config{Trace: w.Datagram})
	if err != nil {
		log.Fatal(err)
	}
	dialerSCTP := iwarp.Dialer{DialContext: overSCTP.DialContext}

	// RPC over TCP: Dial uses Wrap, and Serve takes w.Listener.
	config := recordmark.Config{Wrap: w.Dialed}

	// Both ends in this process.
	fabric := loopback.New()
	w.Loopback(fabric)

	fmt.Println(listener, dialer, dialerSCTP, config, fabric) // use them
}
