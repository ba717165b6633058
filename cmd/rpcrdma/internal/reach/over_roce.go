package reach

import (
	"net"
	"net/netip"
	"os"

	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// PortTaken says what to do about the UDP port of RoCE that somebody else has.
const PortTaken = "'rdma link' shows whether it is the kernel's rdma_rxe ('rdma link delete' ends " +
	"that), 'ss -ulnp' a process"

// FreeInside returns an address of the loopback interface at which nobody has the UDP port of RoCE.
// Another process may have it at 127.0.0.1, and at some others.
func FreeInside() netip.Addr {
	pid := os.Getpid()
	for try := range byte(16) {
		ip := inside(pid, try)
		c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, roce.UDPPort)))
		if err == nil {
			c.Close()
			return ip
		}
	}
	return inside(pid, 0) // of which RoCE says what is wrong
}

// inside is an address that a process tries.
func inside(pid int, try byte) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(pid >> 8), byte(pid), 1 + try})
}
