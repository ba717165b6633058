package main

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// tellHowToMount has a command for each export over RDMA, and one over TCP. Over RDMA, Linux speaks one dialect.
func (s *server) tellHowToMount(b *strings.Builder) {
	if s.cfg.dialect.value == rpcrdma.Draft {
		s.tellDraft(b)
		return
	}
	if s.ports.tcp == nil {
		b.WriteString("Linux cannot mount this: it needs MOUNT over TCP, which --mount none leaves out\n")
		return
	}
	rdma, tcp := s.ports.rdma.Addr().(*net.TCPAddr), s.ports.tcp.Addr().(*net.TCPAddr)
	b.WriteString("to mount it from Linux:\n")
	for _, e := range s.exports.said {
		from := ",noresvport"
		if slices.ContainsFunc(e.rules, func(r nfsserver.Rule) bool { return r.Privileged }) {
			from = ""
		}
		fmt.Fprintf(b, "    mount -t nfs -o vers=3,rdma,port=%d,mountport=%d,mountproto=tcp,nolock%s %s /mnt\n",
			rdma.Port, tcp.Port, from, quote(hostAt(rdma.IP)+":"+e.name))
	}
	b.WriteString("or without RDMA on the client:\n")
	s.tellTCP(b)
}

// tellDraft has a command over RDMA for clients of the draft's dialect, and one for Linux over TCP.
func (s *server) tellDraft(b *strings.Builder) {
	rdma := s.ports.rdma.Addr().(*net.TCPAddr)
	t := target{scheme: "rdma", host: strings.Trim(hostAt(rdma.IP), "[]"), port: rdma.Port, path: s.anExport()}
	fmt.Fprintf(b, "to reach it over RDMA:\n    rpcrdma ls --dialect draft %s\n", quote(t.String()))
	if s.ports.tcp == nil {
		b.WriteString("Linux cannot mount this: over RDMA it needs --dialect rfc8166, and over TCP what --mount none leaves out\n")
		return
	}
	b.WriteString("to mount it from Linux, over TCP (over RDMA it takes serve --dialect rfc8166):\n")
	s.tellTCP(b)
}

// tellTCP has a command over TCP.
func (s *server) tellTCP(b *strings.Builder) {
	tcp := s.ports.tcp.Addr().(*net.TCPAddr)
	fmt.Fprintf(b, "    mount -t nfs -o vers=3,tcp,port=%d,mountport=%d,mountproto=tcp,nolock %s /mnt\n",
		tcp.Port, tcp.Port, quote(hostAt(tcp.IP)+":"+s.anExport()))
}

// anExport returns the name of an export, for an example.
func (s *server) anExport() string {
	if len(s.exports.said) == 0 {
		return "/EXPORT"
	}
	return s.exports.said[0].name
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
