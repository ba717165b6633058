package rc

import "github.com/rpcrdma/go-rpcrdma/transport/roce/bth"

// numbering maps packet numbers to PSNs.
type numbering struct{ start uint32 }

// psn returns the PSN of packet n.
func (w numbering) psn(n uint64) uint32 { return (w.start + uint32(n)) & bth.Mask24 }

// near returns the distance from packet n to a PSN: -2^23 to 2^23-1 (IBTA section 9.7.1).
func (w numbering) near(n uint64, psn uint32) int64 {
	return int64(int32((psn-w.psn(n))<<8) >> 8)
}

// packetsOf returns how many packets n bytes take: at least one.
func packetsOf(n, mtu int) uint64 { return uint64(max(1, (n+mtu-1)/mtu)) }
