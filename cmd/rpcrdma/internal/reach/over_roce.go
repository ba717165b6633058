package reach

import (
	"net"
	"net/netip"
	"os"

	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// PortTaken says how to find out who has the UDP port of RoCE.
const PortTaken = "'rdma link' shows whether the kernel's rdma_rxe has it ('rdma link delete' ends " +
	"that), and 'ss -ulnp' which process has it"

// FreeInside returns an address of the loopback interface at which the UDP port of RoCE is free.
// Other processes may have it at 127.0.0.1, and at other addresses.
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
	return inside(pid, 0) // listening there reports what is wrong
}

// inside is an address of the loopback interface for a process to try.
func inside(pid int, try byte) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(pid >> 8), byte(pid), 1 + try})
}
