package serve

import (
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// tellHowToMount writes a mount command for each export and each provider that Linux supports, and
// one for TCP. Over RDMA, Linux speaks RFC 8166 only.
func (s *server) tellHowToMount(b *strings.Builder) {
	if s.cfg.dialect.Value == rpcrdma.Draft {
		s.tellDraft(b)
		return
	}
	if s.ports.TCP == nil {
		b.WriteString("Linux cannot mount this: it needs MOUNT over TCP, but --mount is none\n")
		return
	}
	iwarp, overIWARP := s.ports.over("iwarp")
	roce, overRoCE := s.ports.over("roce")
	if overIWARP {
		by := ""
		if overRoCE {
			by = " by iWARP"
		}
		fmt.Fprintf(b, "to mount it from Linux%s:\n", by)
		s.tellRDMA(b, iwarp)
	}
	if overRoCE {
		b.WriteString("to mount it from Linux by RoCE, where eth0 is the interface towards this host:\n" +
			"    modprobe rdma_rxe; rdma link add rxe0 type rxe netdev eth0\n")
		s.tellRDMA(b, roce)
	}
	if overIWARP || overRoCE {
		b.WriteString("or without RDMA on the client:\n")
	} else {
		b.WriteString("to mount it from Linux, over TCP:\n")
	}
	s.tellTCP(b)
}

// tellRDMA writes a mount command for each export over a provider, or why Linux cannot mount it.
// Over RDMA, Linux calls from any port.
func (s *server) tellRDMA(b *strings.Builder, over rdmaPort) {
	rdma := over.at()
	for _, e := range s.exports.said {
		from := ",noresvport"
		if slices.ContainsFunc(e.Rules, func(r nfsserver.Rule) bool { return r.Privileged }) {
			if !slices.ContainsFunc(e.Rules, func(r nfsserver.Rule) bool { return !r.Privileged }) {
				fmt.Fprintf(b,
					"    not %s: Linux calls from a port above 1023 over RDMA, which needs the option insecure\n",
					cli.Printable(e.Name))
				continue
			}
			from = ""
		}
		sec, ok := secOption(e, s.ports.notNFS == nil)
		if !ok {
			fmt.Fprintf(b, "    not %s: with Kerberos it needs TCP port 2049, too\n", cli.Printable(e.Name))
			continue
		}
		fmt.Fprintf(b, "    mount -t nfs -o vers=3,rdma,port=%d,mountport=%d,mountproto=tcp,nolock%s%s %s /mnt\n",
			rdma.Port(), AddrPort(s.ports.TCP.Addr()).Port(), from, sec,
			Quote(s.hostAt(rdma.Addr())+":"+e.Name))
	}
}

// secOption returns the preferred flavour of an export, such as ",sec=krb5p": a client that names
// it cannot be downgraded. If kerberos is false, it is the first flavour without Kerberos, and ok
// is false if there is none. It is "" for exports without Kerberos.
func secOption(e Export, kerberos bool) (option string, ok bool) {
	i := slices.IndexFunc(e.Rules, ruleProves)
	if i < 0 {
		return "", true
	}
	for _, f := range e.Rules[i].Flavors {
		if kerberos || !f.Proves() {
			return ",sec=" + f.String(), true
		}
	}
	return "", false
}

// tellDraft writes a command over RDMA for clients of the draft's dialect, and one over TCP for
// Linux.
func (s *server) tellDraft(b *strings.Builder) {
	first := s.ports.rdma[0]
	rdma := first.at()
	t := reach.Target{Scheme: reach.SchemeOf[first.provider], Host: strings.Trim(HostAt(rdma.Addr()), "[]"),
		Port: int(rdma.Port()), Path: s.anExport()}
	if a, ok := first.Addr().(sctp.Addr); ok {
		t.UDP = int(a.UDPPort)
	}
	fmt.Fprintf(b, "to reach it over RDMA:\n    rpcrdma ls --dialect draft %s\n", Quote(t.String()))
	if s.ports.TCP == nil {
		b.WriteString("Linux cannot mount this: over RDMA it needs --dialect rfc8166, and over TCP it needs " +
			"--mount, which is none\n")
		return
	}
	b.WriteString("to mount it from Linux, over TCP (over RDMA it needs serve --dialect rfc8166):\n")
	s.tellTCP(b)
}

// tellTCP writes a mount command over TCP.
func (s *server) tellTCP(b *strings.Builder) {
	tcp := AddrPort(s.ports.TCP.Addr())
	sec := ""
	if len(s.exports.said) > 0 {
		sec, _ = secOption(s.exports.said[0], true)
	}
	fmt.Fprintf(b, "    mount -t nfs -o vers=3,tcp,port=%d,mountport=%d,mountproto=tcp,nolock%s %s /mnt\n",
		tcp.Port(), tcp.Port(), sec, Quote(s.hostAt(tcp.Addr())+":"+s.anExport()))
}

// anExport returns the name of an export, as an example.
func (s *server) anExport() string {
	if len(s.exports.said) == 0 {
		return "/EXPORT"
	}
	return s.exports.said[0].Name
}

// hostAt is the name of this host in Kerberos, or else HostAt.
func (s *server) hostAt(ip netip.Addr) string {
	return cmp.Or(s.service.host(), HostAt(ip))
}

// HostAt is a name or address of this host, in the form of mount, for clients of a listener at ip.
func HostAt(ip netip.Addr) string {
	if !ip.IsUnspecified() {
		if ip.Is6() {
			return "[" + ip.String() + "]"
		}
		return ip.String()
	}
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "HOST"
}

// Quote quotes a word for a shell, if necessary.
func Quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/.:-_%+@"
	if strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
