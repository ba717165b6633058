package mpa_test

import (
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// Two ends of a connection agree to speak iWARP. Each allows the other as many RDMA Reads as its
// IRD.
func Example() {
	initiator, responder := net.Pipe()
	go func() {
		request, err := mpa.ReadRequest(responder)
		if err != nil {
			return
		}
		if _, err := request.Accept(mpa.Config{IRD: 4, ORD: 4}, []byte("welcome")); err != nil {
			fmt.Println(err)
		}
	}()

	setup, err := mpa.Initiate(initiator, mpa.Config{IRD: 16, ORD: 16}, []byte("hello"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: MPA revision %d, IRD %d, ORD %d\n",
		setup.PrivateData, setup.Revision, setup.IRD, setup.ORD)
	// Output: welcome: MPA revision 2, IRD 16, ORD 4
}
