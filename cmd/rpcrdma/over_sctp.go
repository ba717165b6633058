package main

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// overSCTP has the dialers of rdma+sctp://: connections with one server are streams of one
// association.
var overSCTP struct {
	sync.Mutex
	dialers map[sctpKey]*sctp.Dialer
}

// sctpKey is what makes a dialer another one.
type sctpKey struct {
	udp   int
	trace *trace.Writer
}

// traceSCTP returns what traces datagrams, or nil.
func traceSCTP(w *trace.Writer) func(local, remote netip.AddrPort, sent bool, packet []byte) {
	if w == nil {
		return nil
	}
	return w.Datagram
}

// closeSCTP waits, not for long, until servers know that the associations have ended. Otherwise they
// would keep them until they find out.
func closeSCTP() {
	ctx, cancel := context.WithTimeout(context.Background(), unmountTime)
	defer cancel()
	overSCTP.Lock()
	defer overSCTP.Unlock()
	for _, d := range overSCTP.dialers {
		_ = d.Close(ctx) // the time is over
	}
}

// listenSCTP listens at the SCTP port that has the number of iWARP's over TCP, for the same clients.
func listenSCTP(ctx context.Context, cfg *serveConfig, p *ports, low iwarp.Config,
	m *metrics.Metrics) (*iwarp.Listener, error) {
	below, err := sctp.Listen(ctx, p.rdma.Addr().String(), sctp.Config{
		UDPPort: cmp.Or(cfg.sctpUDP, -1), Logger: low.Logger, Counters: m.SCTP(),
		Trace: traceSCTP(traceOf(ctx)),
		Admit: func(a netip.Addr) bool {
			if len(cfg.allow) == 0 || peerhost.Of(net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, 0))).In(cfg.allow) {
				return true
			}
			p.excluded.Add(1)
			return false
		},
	})
	if err != nil {
		return nil, err
	}
	l, err := iwarp.NewListener(below, low)
	if err != nil {
		below.Close()
	}
	return l, err
}

// dialer returns what connects to the target.
func (t target) dialer(w *trace.Writer, low iwarp.Config) (iwarp.Dialer, error) {
	if t.scheme != schemeSCTP {
		return dialerOverTCP(w, low), nil
	}
	key := sctpKey{cmp.Or(t.udp, sctp.DefaultUDPPort), w}
	overSCTP.Lock()
	defer overSCTP.Unlock()
	d := overSCTP.dialers[key]
	if d == nil {
		var err error
		d, err = sctp.NewDialer(sctp.Config{
			UDPPort: key.udp, Logger: low.Logger, Trace: traceSCTP(w),
		})
		if err != nil {
			return iwarp.Dialer{}, err
		}
		if overSCTP.dialers == nil {
			overSCTP.dialers = make(map[sctpKey]*sctp.Dialer)
		}
		overSCTP.dialers[key] = d
	}
	return iwarp.Dialer{Config: low, DialContext: d.DialContext}, nil
}
