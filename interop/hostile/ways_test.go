package hostile_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// way is a way to reach a server.
type way int

const (
	byIWARP way = iota // over TCP
	bySCTP             // iWARP over SCTP
	byRoCE
	byTCP // RPC over TCP
	byTLS // RPC over TCP with TLS
	byHTTP
)

var wayNames = []string{"iWARP", "SCTP", "RoCE", "TCP", "TLS", "metrics"}

func (w way) String() string { return wayNames[w] }

// The ways of attacks that several protocols have in common.
var (
	overRDMA  = []way{byIWARP, bySCTP, byRoCE}
	overIWARP = []way{byIWARP, bySCTP}
	overRPC   = []way{byTCP, byTLS}
)

// site is a server as its clients know it.
type site struct {
	rdma, tcp string
	sctp      int    // the UDP port of SCTP
	metrics   string // the port of metrics
	dialer    func(host string) faultnet.DialContext
	net       string // what the addresses of all hosts begin with
	outsider  string // the one host that attacks; "": hosts of net do
	limits    limits
	file      nfs3.FH // of fileSize bytes, which everybody may read and write
}

// attackers returns n hosts that attack.
func (s *site) attackers(n int) (hosts []string) {
	if s.outsider != "" {
		return []string{s.outsider}
	}
	for i := range n {
		hosts = append(hosts, s.net+".6."+strconv.Itoa(6+i))
	}
	return hosts
}

// byVerbs returns what makes RDMA connections from a host. After their ends, end waits for what is
// below them.
func (s *site) byVerbs(host string, w way) (d transport.Dialer, end func(), err error) {
	end = func() {}
	switch w {
	case bySCTP:
		below, err := sctp.NewDialer(s.sctpFrom(host))
		if err != nil {
			return nil, nil, err
		}
		d = iwarp.Dialer{Config: iwarp.Config{Logger: quiet}, DialContext: below.DialContext}
		end = func() { _ = below.Close(context.Background()) }
	case byRoCE:
		d = roce.Dialer{Config: roce.Config{Local: netip.MustParseAddr(host), Logger: quiet}}
	default:
		d = iwarp.Dialer{
			Config: iwarp.Config{Logger: quiet, NudgeAfter: -1}, DialContext: s.dialer(host),
		}
	}
	return d, end, nil
}

// sctpFrom returns the configuration of SCTP at a host.
func (s *site) sctpFrom(host string) sctp.Config {
	return sctp.Config{UDPPort: s.sctp, Local: netip.MustParseAddr(host), Logger: quiet}
}

// dial connects a good client. End waits after the end of the connection.
func (s *site) dial(ctx context.Context, host string, w way) (
	conn oncrpc.Transport, end func(), err error,
) {
	if slices.Contains(overRDMA, w) {
		d, end, err := s.byVerbs(host, w)
		if err != nil {
			return nil, nil, err
		}
		conn, err := rpcrdma.Dial(ctx, d, s.rdma, rpcrdma.Config{Logger: quiet})
		return conn, end, err
	}
	below, err := s.dialer(host)(ctx, "tcp", s.tcp)
	if err != nil {
		return nil, nil, err
	}
	records, err := recordmark.NewConn(below, recordmark.Config{Logger: quiet})
	if err == nil && w == byTLS {
		err = records.RequestTLS(ctx, nfs3.Program, nfs3.Version,
			&tls.Config{InsecureSkipVerify: true})
	}
	return records, func() {}, err
}

// reach connects a bad one, as far as its attack wants that done.
func (p *peer) reach(a *attack, s *site) {
	switch {
	case a.verbs != nil:
		var d transport.Dialer
		if d, _, p.err = s.byVerbs(p.host, p.way); p.ok() {
			p.dialVerbs(d, s.rdma)
		}
	case a.raw != nil && (p.way == bySCTP || p.way == byRoCE):
		to := netip.MustParseAddrPort(s.rdma)
		port := s.sctp
		if p.way == byRoCE {
			port, p.port = roce.UDPPort, to.Port()
		}
		from := &net.UDPAddr{IP: net.ParseIP(p.host)}
		p.connect(net.DialUDP("udp", from,
			net.UDPAddrFromAddrPort(netip.AddrPortFrom(to.Addr(), uint16(port)))))
	case p.way == bySCTP:
		p.dialSCTP(s)
	default:
		addr := map[way]string{byIWARP: s.rdma, byTCP: s.tcp, byTLS: s.tcp, byHTTP: s.metrics}[p.way]
		p.connect(s.dialer(p.host)(p.ctx, "tcp", addr))
	}
	if !p.ok() || a.verbs != nil {
		return
	}
	p.in = bufio.NewReader(p.conn)
	switch {
	case a.raw != nil:
	case p.way == byIWARP:
		p.startup()
	case p.way == byTLS:
		p.startTLS()
	}
}

// connect has the peer use a connection, if there is one.
func (p *peer) connect(conn net.Conn, err error) {
	if p.err = err; err == nil {
		p.conn = conn
	}
}

// askForTLS has the server begin TLS (RFC 9289 section 4.1).
func (p *peer) askForTLS() {
	const authTLS = 7
	p.xid++
	call := be32(p.xid, 0, 2, nfs3.Program, nfs3.Version, uint32(nfs3.ProcNull), authTLS, 0, 0, 0)
	p.write(record(true, call)...)
	p.read(4 + 24 + len("STARTTLS"))
}

// clientTLS is a configuration that takes any server.
func clientTLS() *tls.Config {
	return &tls.Config{
		InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, NextProtos: []string{"sunrpc"},
	}
}

// startTLS starts TLS.
func (p *peer) startTLS() {
	p.askForTLS()
	if !p.ok() {
		return
	}
	conn := tls.Client(p.conn, clientTLS())
	if p.err = conn.HandshakeContext(p.ctx); p.ok() {
		p.conn, p.in = conn, bufio.NewReader(conn)
	}
}
