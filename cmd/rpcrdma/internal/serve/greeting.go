package serve

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// greet prints what is served and how to mount it, in one write.
func (s *server) greet(out io.Writer) error {
	var b strings.Builder
	for _, e := range s.exports.said {
		when := ""
		if s.exports.open[e.Name] == nil {
			when = ", once it exists"
		}
		fmt.Fprintf(&b, "serving %s (%s%s)\n", cli.Printable(e.Name), s.cfg.Describe(e, os.Geteuid()), when)
	}
	for _, l := range s.ports.rdma {
		in := ""
		if a, ok := l.Addr().(sctp.Addr); ok {
			in = fmt.Sprintf(", in UDP port %d", a.UDPPort)
		}
		fmt.Fprintf(&b, "NFS over RDMA (%s) on %s%s\n", l.provider, l.Addr(), in)
	}
	if s.ports.TCP != nil {
		fmt.Fprintf(&b, "MOUNT and NFS over TCP on %s\n", s.ports.TCP.Addr())
	}
	if s.ports.nfs != nil {
		fmt.Fprintf(&b, "and on %s, where clients may make RPCSEC_GSS contexts (RFC 8166 section 8.2.2.1)\n",
			s.ports.nfs.Addr())
	}
	s.service.describe(&b, s.cfg, s.exports.said)
	if s.service != nil || s.cfg.manageGIDs {
		fmt.Fprintf(&b, "users and groups come from %v\n", users.Host())
	}
	for _, l := range s.ports.rpcbind {
		fmt.Fprintf(&b, "look-ups over RDMA (%s) on %s\n", l.provider, l.Addr())
	}
	if s.rpcbind != nil {
		fmt.Fprintf(&b, "registered with rpcbind for %s\n", strings.Join(s.rpcbind.Netids(), ", "))
	}
	s.watched.Greet(&b)
	daemon.GreetDebug(s.debug, &b)
	s.tellHowToMount(&b)
	_, err := io.WriteString(out, b.String())
	return err
}

// Describe describes an export that user uid serves.
func (c *Config) Describe(e Export, uid int) string {
	var b strings.Builder
	c.describePlace(&b, e)
	if len(e.Rules) == 1 {
		b.WriteString(", ")
		describeRule(&b, &e.Rules[0])
	}
	b.WriteString(c.describeFiles(e, uid))
	for i := range e.Rules {
		r := &e.Rules[i]
		if len(e.Rules) > 1 {
			b.WriteString("; ")
			describeRule(&b, r)
		}
		if len(r.Clients) > 0 {
			b.WriteString(", for")
			describePrefixes(&b, r)
		}
	}
	return b.String()
}

// describeClients writes an export, and a line for each of its rules.
func (c *Config) describeClients(b *strings.Builder, e Export, uid int) {
	b.WriteString(cli.Printable(e.Name) + " (")
	c.describePlace(b, e)
	b.WriteString(c.describeFiles(e, uid) + ")\n")
	for i := range e.Rules {
		r := &e.Rules[i]
		b.WriteString("    for")
		switch {
		case len(r.Clients) > 0:
			describePrefixes(b, r)
		case len(c.allow) > 0:
			b.WriteString(" everybody that --allow names")
		default:
			b.WriteString(" everybody")
		}
		b.WriteString(": ")
		describeRule(b, r)
		b.WriteString("\n")
	}
}

// describePlace writes where the files of an export are.
func (c *Config) describePlace(b *strings.Builder, e Export) {
	if e.Dir == "" {
		fmt.Fprintf(b, "memory, %v", &c.memorySize)
	} else {
		fmt.Fprintf(b, "directory %s", cli.Printable(e.Dir))
	}
}

// describePrefixes writes the addresses of the clients of a rule.
func describePrefixes(b *strings.Builder, r *nfsserver.Rule) {
	for _, p := range r.Clients {
		fmt.Fprintf(b, " %v", p)
	}
}

// describeRule writes what the clients of a rule may do.
func describeRule(b *strings.Builder, r *nfsserver.Rule) {
	access := accessesOf(r)
	describeAccess(b, r, access[0].Access)
	for _, a := range access[1:] {
		fmt.Fprintf(b, " (%s: ", mount3.FormatFlavors(a.flavors))
		describeAccess(b, r, a.Access)
		b.WriteString(")")
	}
	if r.Privileged {
		b.WriteString(", from ports below 1024")
	}
	if len(r.Flavors) > 0 {
		b.WriteString(", sec=" + mount3.FormatFlavors(r.Flavors))
	}
}

// flavorAccess is what callers may do with some flavours.
type flavorAccess struct {
	nfsserver.Access
	flavors []mount3.Flavor
}

// accessesOf returns what callers may do by flavour, the preferred flavour first.
func accessesOf(r *nfsserver.Rule) (all []flavorAccess) {
	general := nfsserver.Access{ReadOnly: r.ReadOnly, Squash: r.Squash}
	for _, f := range r.Flavors {
		access, ok := r.PerFlavor[f]
		if !ok {
			access = general
		}
		same := func(a flavorAccess) bool { return a.Access == access }
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].flavors = append(all[i].flavors, f)
		} else {
			all = append(all, flavorAccess{access, []mount3.Flavor{f}})
		}
	}
	if len(all) == 0 {
		all = []flavorAccess{{Access: general}}
	}
	return all
}

// describeAccess writes what callers may do, and as which users.
func describeAccess(b *strings.Builder, r *nfsserver.Rule, a nfsserver.Access) {
	if a.ReadOnly {
		b.WriteString("read-only")
	} else {
		b.WriteString("read-write")
	}
	switch a.Squash {
	case nfsserver.SquashRoot:
		fmt.Fprintf(b, ", root squashed to %d:%d", r.Anon.UID, r.Anon.GID)
	case nfsserver.SquashAll:
		fmt.Fprintf(b, ", all squashed to %d:%d", r.Anon.UID, r.Anon.GID)
	case nfsserver.SquashNone:
		b.WriteString(", no squashing")
	}
}

// describeFiles says who will own the files in a directory, and what survives a restart.
func (c *Config) describeFiles(e Export, uid int) string {
	if e.Dir == "" {
		return ""
	}
	s := ""
	if uid != 0 {
		s = fmt.Sprintf(", files belong to user %d, who runs serve", uid)
	}
	if c.state == "" {
		return s + ", to be mounted again after a restart"
	}
	return s + ", handles kept in " + cli.Printable(c.state)
}
