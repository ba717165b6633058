package bth_test

import (
	"fmt"
	"net/netip"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
)

// This encodes a Send of one packet, and checks and decodes it again.
func Example() {
	payload := []byte("hello")
	h := bth.Packet{
		Opcode: bth.SendOnly, Migrated: true, PKey: bth.DefaultPKey, QP: 17, PSN: 1,
	}
	b := append(h.AppendHeaders(nil, len(payload)), payload...)
	b = append(b, make([]byte, bth.Pad(len(payload)))...)
	path := bth.NewPath( // the ICRC also covers addresses and ports
		netip.MustParseAddrPort("192.0.2.1:4791"), netip.MustParseAddrPort("192.0.2.2:4791"))
	b = path.AppendSum(b, 0, 7) // in an IPv4 header with identification 7

	id, ok := path.Check(b)
	got, err := bth.Parse(b)
	fmt.Println(id, ok, got.QP, string(got.Payload), err)
	// Output: 7 true 17 hello <nil>
}
