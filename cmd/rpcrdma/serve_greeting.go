package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// greet tells what is served, when it is, in one write.
func (s *server) greet(out io.Writer) error {
	var b strings.Builder
	for _, e := range s.cfg.exports {
		fmt.Fprintf(&b, "serving %s (%s)\n", printable(e.name), s.describe(e))
	}
	fmt.Fprintf(&b, "NFS over RDMA (%s) on %s\n", s.cfg.provider, s.ports.rdma.Addr())
	if s.ports.tcp != nil {
		fmt.Fprintf(&b, "MOUNT and NFS over TCP on %s\n", s.ports.tcp.Addr())
	}
	if s.rpcbind != nil {
		fmt.Fprintf(&b, "registered with rpcbind for %s\n", strings.Join(s.rpcbind.netids(), ", "))
	}
	if s.ports.tcp != nil {
		fmt.Fprintf(&b, "to mount it from Linux:\n    %s\n", s.mountCommand())
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// describe says what the options make of an export.
func (s *server) describe(e export) string {
	var b strings.Builder
	if e.dir == "" {
		fmt.Fprintf(&b, "memory, %v", &s.cfg.memorySize)
	} else {
		fmt.Fprintf(&b, "directory %s", printable(e.dir))
	}
	if s.cfg.readOnly {
		b.WriteString(", read-only")
	} else {
		b.WriteString(", read-write")
	}
	switch s.cfg.squash.value {
	case nfsserver.SquashRoot:
		fmt.Fprintf(&b, ", root squashed to %d:%d", s.cfg.anonUID, s.cfg.anonGID)
	case nfsserver.SquashAll:
		fmt.Fprintf(&b, ", all squashed to %d:%d", s.cfg.anonUID, s.cfg.anonGID)
	case nfsserver.SquashNone:
		b.WriteString(", nobody squashed")
	}
	for i, p := range s.cfg.allow {
		if i == 0 {
			b.WriteString(", for")
		}
		fmt.Fprintf(&b, " %v", p)
	}
	return b.String()
}

// mountCommand mounts the first export.
func (s *server) mountCommand() string {
	rdma, tcp := s.ports.rdma.Addr().(*net.TCPAddr), s.ports.tcp.Addr().(*net.TCPAddr)
	return fmt.Sprintf("mount -t nfs -o vers=3,rdma,port=%d,mountport=%d,mountproto=tcp,nolock,noresvport %s /mnt",
		rdma.Port, tcp.Port, quote(hostAt(rdma.IP)+":"+s.cfg.exports[0].name))
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
