// Package capture reads a captured NFS session over RoCE version 2 between two Linux 6.1 kernels
// with rdma_rxe, for golden tests. [Load] returns its datagrams.
package capture

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the file
	"encoding/binary"
	"io"
	"net/netip"
	"testing"
)

//go:embed testdata/nfs3-rxe.pcap.gz
var file []byte

// Datagram is an IPv4 UDP datagram to RoCE's port.
type Datagram struct {
	Src, Dst netip.AddrPort
	ID       uint16 // the identification of the IP header
	Payload  []byte
}

// Lengths of headers in the file, in bytes.
const (
	fileLen   = 24
	recordLen = 16
	etherLen  = 14
	ipLen     = 20
	udpLen    = 8
)

const rocePort = 4791

// Load returns the datagrams of the session.
func Load(tb testing.TB) (all []Datagram) {
	tb.Helper()
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		tb.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	be := binary.BigEndian
	for b = b[fileLen:]; len(b) > 0; {
		n := binary.LittleEndian.Uint32(b[8:])
		f := b[recordLen:][:n]
		b = b[recordLen+n:]
		if len(f) < etherLen+ipLen+udpLen || be.Uint16(f[12:]) != 0x0800 || f[etherLen+9] != 17 {
			continue
		}
		ip, udp := f[etherLen:], f[etherLen+ipLen:]
		if be.Uint16(udp[2:]) != rocePort {
			continue
		}
		addr := func(ip, port []byte) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip)), be.Uint16(port))
		}
		all = append(all, Datagram{
			Src: addr(ip[12:], udp), Dst: addr(ip[16:], udp[2:]), ID: be.Uint16(ip[4:]),
			Payload: udp[udpLen:be.Uint16(udp[4:])],
		})
	}
	return all
}
