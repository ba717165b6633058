package rdmap_test

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// One end answers a Read Request for a steering tag that does not exist with a Terminate. The other
// end learns the reason.
func Example() {
	h := ddp.Header{Queue: ddp.QueueReadRequest, MSN: 1, Last: true, Version: ddp.Version}
	h.Control = rdmap.Control(ddp.Version, rdmap.OpReadRequest)
	req := rdmap.ReadRequest{SinkSTag: 0x100, Len: 4096, SourceSTag: 0x5600}
	segment := req.Append(h.Append(nil))

	t := rdmap.TerminateForSegment(rdmap.ProtectionSTag, segment)
	message := t.Append(nil)

	received, err := rdmap.ParseTerminate(message)
	if err != nil {
		fmt.Println(err)
		return
	}
	reason := received.Err(true)
	fmt.Println(reason.Code)
	fmt.Println(errors.Is(reason, transport.ErrSTag))
	// Output:
	// RDMAP remote protection error: invalid STag
	// true
}
