package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// Ports are the ports that a server listens on.
type Ports struct {
	rdma    []rdmaPort   // by provider
	rpcbind []rdmaPort   // for look-ups alone, by provider
	TCP     net.Listener // nil: none
	nfs     net.Listener // at NFSPort over TCP; nil: none, or it is TCP
	notNFS  error        // why nfs is nil, though Kerberos needs it

	allowed *daemon.Allowed // who may connect to serve
}

// rdmaPort is where a server is reached over RDMA.
type rdmaPort struct {
	provider string
	transport.Listener
}

// at is its address and port: a TCP port for iWARP, and for other providers a port of their own.
func (p rdmaPort) at() netip.AddrPort { return AddrPort(p.Addr()) }

// AddrPort returns the address and port of a listener.
func AddrPort(a net.Addr) netip.AddrPort {
	at := a.(interface{ AddrPort() netip.AddrPort }).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// over returns the port of a provider, if there is one.
func (p *Ports) over(provider string) (rdmaPort, bool) {
	i := slices.IndexFunc(p.rdma, func(l rdmaPort) bool { return l.provider == provider })
	if i < 0 {
		return rdmaPort{}, false
	}
	return p.rdma[i], true
}

// Listen opens the ports. With kerberos, it also listens at NFSPort.
func Listen(ctx context.Context, cfg *Config, kerberos bool, m *metrics.Metrics, log *slog.Logger) (
	_ *Ports, err error) {
	p := &Ports{allowed: daemon.NewAllowed(cfg.allow, log)}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	rdma := opener{cfg, m, log, reach.RecvDepth(cfg.dialect.Value, cfg.credits), p.allowed}
	at := cfg.Listen
	for _, provider := range cfg.providers {
		flag, value := "--listen", cfg.Listen
		if provider == "sctp" {
			flag, value = "--sctp-udp", strconv.Itoa(cfg.sctpUDP)
		}
		l, err := rdma.open(ctx, provider, at)
		if err != nil {
			return nil, daemon.ListenError(flag, value, err)
		}
		p.rdma = append(p.rdma, rdmaPort{provider, l})
		at = p.rdma[0].at().String() // all providers share the port of the first one
	}
	for _, provider := range cfg.lookupProviders() {
		rdma.recvDepth = 0
		l, err := rdma.open(ctx, provider, cfg.rdmaRPCBind)
		if err != nil {
			return nil, daemon.ListenError("--rdma-rpcbind", cfg.rdmaRPCBind, err)
		}
		p.rpcbind = append(p.rpcbind, rdmaPort{provider, l})
	}
	if cfg.Mount != "" {
		if p.TCP, err = p.allowed.Listen(ctx, cfg.Mount); err != nil {
			return nil, daemon.ListenError("--mount", cfg.Mount, err)
		}
	}
	if kerberos {
		p.listenNFS(ctx, cfg, log)
	}
	return p, nil
}

// NFSPort is the TCP port where clients of NFS over RDMA make contexts of RPCSEC_GSS. RFC 8166
// section 8.2.2.1 requires servers to listen there.
const NFSPort = 2049

// Reasons not to listen at NFSPort.
var (
	errMountElsewhere = errors.New("leave out --mount, or write --mount :2049")
	errNFSPortIsRDMA  = errors.New("--listen uses that port for iWARP: choose another")
)

// listenNFS listens at NFSPort, too, unless --mount names a port of its own. If it cannot, it logs
// that and goes on: over TCP, and for clients of this module, contexts can be made at any port.
func (p *Ports) listenNFS(ctx context.Context, cfg *Config, log *slog.Logger) {
	switch {
	case p.TCP != nil && AddrPort(p.TCP.Addr()).Port() == NFSPort:
	case !mountsByDefault(cfg.Mount):
		p.notNFS = errMountElsewhere
	case p.listensForRDMAAt(NFSPort):
		p.notNFS = errNFSPortIsRDMA
	default:
		host, _, _ := net.SplitHostPort(cfg.Mount)
		addr := net.JoinHostPort(host, strconv.Itoa(NFSPort))
		if p.nfs, p.notNFS = p.allowed.Listen(ctx, addr); p.notNFS != nil {
			p.notNFS = fmt.Errorf("stop the program that has it, such as nfsd or rpcrdma gateway: %w", p.notNFS)
		}
	}
	if p.notNFS != nil {
		log.Warn("Linux cannot mount over RDMA with Kerberos: its rpc.gssd makes contexts at TCP port 2049 "+
			"(RFC 8166 section 8.2.2.1), where this server does not listen", "err", p.notNFS)
	}
}

// listensForRDMAAt reports whether iWARP listens at a TCP port.
func (p *Ports) listensForRDMAAt(port uint16) bool {
	l, ok := p.over("iwarp")
	return ok && l.at().Port() == port
}

// mountsByDefault reports whether an address has the default port of --mount.
func mountsByDefault(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	return err == nil && net.JoinHostPort("", port) == defaultMount
}

// opener opens ports over RDMA.
type opener struct {
	cfg       *Config
	metrics   *metrics.Metrics
	log       *slog.Logger
	recvDepth int // 0: the default
	allowed   *daemon.Allowed
}

func (o *opener) open(ctx context.Context, provider, addr string) (transport.Listener, error) {
	var below net.Listener
	var err error
	switch provider {
	case "roce":
		return o.openRoCE(ctx, addr)
	case "sctp":
		below, err = sctp.Listen(ctx, addr, sctp.Config{
			UDPPort: cmp.Or(o.cfg.sctpUDP, -1), Admit: o.admit, Logger: o.log, Counters: o.metrics.SCTP(),
			Trace: reach.Datagrams(reach.TraceOf(ctx)),
		})
	default:
		below, err = o.allowed.Listen(ctx, addr)
	}
	if err != nil {
		return nil, err
	}
	cfg := iwarp.Config{
		CRC: o.cfg.crc.Value, RecvDepth: o.recvDepth, Counters: o.metrics.IWARP(), Logger: o.log,
		MaxPending: daemon.FindRoom().Startups,
	}
	if o.cfg.markers {
		cfg.Markers = mpa.MarkersOn
	}
	l, err := iwarp.NewListener(below, cfg)
	if err != nil {
		below.Close()
		return nil, err
	}
	return l, nil
}

func (o *opener) openRoCE(ctx context.Context, addr string) (transport.Listener, error) {
	l, err := roce.Listen(ctx, addr, roce.Config{
		RecvDepth: o.recvDepth, Admit: o.admit, Logger: o.log, Counters: o.metrics.ROCE(),
		Trace: reach.Datagrams(reach.TraceOf(ctx)),
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// admit reports whether --allow admits a host.
func (o *opener) admit(ip netip.Addr) bool {
	return o.allowed.Admits(&net.IPAddr{IP: ip.AsSlice(), Zone: ip.Zone()})
}

// Close closes all listeners.
func (p *Ports) Close() {
	for _, l := range slices.Concat(p.rdma, p.rpcbind) {
		l.Close()
	}
	if p.TCP != nil {
		p.TCP.Close()
	}
	if p.nfs != nil {
		p.nfs.Close()
	}
}
