package ddp_test

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// This encodes a tagged segment, and decodes it again.
func Example() {
	h := ddp.Header{Tagged: true, Last: true, Version: ddp.Version, STag: 0x1234, Offset: 4096}
	segment := append(h.Append(nil), "hello"...)

	got, payload, err := ddp.Parse(segment)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s to STag %#x, offset %d\n", payload, uint32(got.STag), got.Offset)
	// Output: hello to STag 0x1234, offset 4096
}
