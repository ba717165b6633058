package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// greet tells what is served, when it is, in one write.
func (s *server) greet(out io.Writer) error {
	var b strings.Builder
	for _, e := range s.cfg.exports {
		fmt.Fprintf(&b, "serving %s (%s)\n", printable(e.name), s.cfg.describe(e, os.Geteuid()))
	}
	fmt.Fprintf(&b, "NFS over RDMA (%s) on %s\n", defaultProvider, s.ports.rdma.Addr())
	if s.ports.sctp != nil {
		a := s.ports.sctp.Addr().(sctp.Addr)
		fmt.Fprintf(&b, "NFS over RDMA (sctp) on %s, in UDP port %d\n", a, a.UDPPort)
	}
	if s.ports.tcp != nil {
		fmt.Fprintf(&b, "MOUNT and NFS over TCP on %s\n", s.ports.tcp.Addr())
	}
	if s.ports.rpcbind != nil {
		fmt.Fprintf(&b, "look-ups over RDMA on %s\n", s.ports.rpcbind.Addr())
	}
	if s.rpcbind != nil {
		fmt.Fprintf(&b, "registered with rpcbind for %s\n", strings.Join(s.rpcbind.netids(), ", "))
	}
	s.watched.greet(&b)
	greetDebug(s.debug, &b)
	s.tellHowToMount(&b)
	_, err := io.WriteString(out, b.String())
	return err
}

// describe says what the options make of an export for a user who serves.
func (c *serveConfig) describe(e export, uid int) string {
	var b strings.Builder
	if e.dir == "" {
		fmt.Fprintf(&b, "memory, %v", &c.memorySize)
	} else {
		fmt.Fprintf(&b, "directory %s", printable(e.dir))
	}
	if c.readOnly {
		b.WriteString(", read-only")
	} else {
		b.WriteString(", read-write")
	}
	switch c.squash.value {
	case nfsserver.SquashRoot:
		fmt.Fprintf(&b, ", root squashed to %d:%d", c.anonUID, c.anonGID)
	case nfsserver.SquashAll:
		fmt.Fprintf(&b, ", all squashed to %d:%d", c.anonUID, c.anonGID)
	case nfsserver.SquashNone:
		b.WriteString(", no squashing")
	}
	if e.dir != "" {
		b.WriteString(c.describeDirectory(uid))
	}
	for i, p := range c.allow {
		if i == 0 {
			b.WriteString(", for")
		}
		fmt.Fprintf(&b, " %v", p)
	}
	return b.String()
}

// describeDirectory says whose files of a directory will be, and what survives.
func (c *serveConfig) describeDirectory(uid int) string {
	s := ""
	if uid != 0 {
		s = fmt.Sprintf(", files belong to user %d, who runs this", uid)
	}
	if c.state == "" {
		return s + ", to be mounted again after a restart"
	}
	return s + ", handles kept in " + printable(c.state)
}
