package main

import (
	"fmt"
	"net"
	"os"
	"strings"
)

// tellHowToMount has a command for each export over RDMA, and one over TCP.
func (s *server) tellHowToMount(b *strings.Builder) {
	if s.ports.tcp == nil {
		b.WriteString("Linux cannot mount this: it needs MOUNT over TCP, which --mount none leaves out\n")
		return
	}
	rdma, tcp := s.ports.rdma.Addr().(*net.TCPAddr), s.ports.tcp.Addr().(*net.TCPAddr)
	b.WriteString("to mount it from Linux:\n")
	for _, e := range s.cfg.exports {
		fmt.Fprintf(b, "    mount -t nfs -o vers=3,rdma,port=%d,mountport=%d,mountproto=tcp,nolock,noresvport %s /mnt\n",
			rdma.Port, tcp.Port, quote(hostAt(rdma.IP)+":"+e.name))
	}
	fmt.Fprintf(b, "or without RDMA on the client:\n    mount -t nfs -o vers=3,tcp,port=%d,mountport=%d,mountproto=tcp,nolock %s /mnt\n",
		tcp.Port, tcp.Port, quote(hostAt(tcp.IP)+":"+s.cfg.exports[0].name))
}

// hostAt is what clients may know this host by that listens at ip, in the form that mount takes.
func hostAt(ip net.IP) string {
	if !ip.IsUnspecified() {
		if ip.To4() == nil {
			return "[" + ip.String() + "]"
		}
		return ip.String()
	}
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "HOST"
}

// quote returns a word as a shell takes it.
func quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/.:-_%+@"
	if strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
