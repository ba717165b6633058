package serve

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// Replaceable returns the registrations of another server that ours replace. It fails if that
// server answers within limit.
func (p *Ports) Replaceable(ctx context.Context, c *rpcbind.Client, limit time.Duration) ([]rpcbind.Mapping, error) {
	others, err := p.others(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("--rpcbind: %w", err)
	}
	for _, program := range []uint32{nfs3.Program, mount3.Program} {
		for _, m := range toAsk(others, program) {
			if at, ok := answers(ctx, m, limit); ok {
				return nil, fmt.Errorf("--rpcbind: an NFS server is registered already and answers at %v: stop it, "+
					"or leave out --rpcbind", at)
			}
		}
	}
	if err := ctx.Err(); err != nil { // else the end of ctx would count as no answer
		return nil, err
	}
	ours := p.Mappings()
	return slices.DeleteFunc(others, func(m rpcbind.Mapping) bool {
		return !slices.ContainsFunc(ours, func(x rpcbind.Mapping) bool {
			return x.Program == m.Program && x.Netid == m.Netid
		})
	}), nil
}

// others returns the registrations of NFS and MOUNT at ports that are not ours. Those at ours are
// left from an earlier run.
func (p *Ports) others(ctx context.Context, c *rpcbind.Client) ([]rpcbind.Mapping, error) {
	ctx, cancel := context.WithTimeout(ctx, rpcbindTime)
	defer cancel()
	all, err := c.Dump(ctx)
	return slices.DeleteFunc(all, func(m rpcbind.Mapping) bool {
		if (m.Program != nfs3.Program || m.Version != nfs3.Version) &&
			(m.Program != mount3.Program || m.Version != mount3.Version) {
			return true
		}
		at, err := rpcbind.ParseUniversalAddr(m.Addr)
		return err == nil && p.hold(at)
	}), err
}

// hold reports whether one of our ports keeps others from listening at an address.
func (p *Ports) hold(at netip.AddrPort) bool {
	if p.TCP != nil && excludes(AddrPort(p.TCP.Addr()), at) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(p.rdma, p.rpcbind), func(l rdmaPort) bool { return excludes(l.at(), at) })
}

// excludes reports whether a listener at one address keeps others from listening at another. A
// listener at :: takes IPv4, too.
func excludes(listener, other netip.AddrPort) bool {
	a, b := listener.Addr().Unmap(), other.Addr().Unmap()
	switch {
	case listener.Port() != other.Port():
		return false
	case a.Is6() && a.IsUnspecified():
		return true
	}
	return a.Is4() == b.Is4() && (a == b || a.IsUnspecified() || b.IsUnspecified())
}

// toAsk returns the mappings of a program at which to ask whether it is alive: those of TCP, or
// else those of RDMA.
func toAsk(all []rpcbind.Mapping, program uint32) []rpcbind.Mapping {
	for _, base := range []string{rpcbind.NetidTCP, rpcbind.NetidRDMA} {
		var list []rpcbind.Mapping
		for _, m := range all {
			if m.Program == program && (m.Netid == base || m.Netid == base+"6") {
				list = append(list, m)
			}
		}
		if list != nil {
			return list
		}
	}
	return nil
}

// answers reports whether a program answers, and where. Over RDMA, an accepted connection is
// enough.
func answers(ctx context.Context, m rpcbind.Mapping, limit time.Duration) (netip.AddrPort, bool) {
	at, err := rpcbind.ParseUniversalAddr(m.Addr)
	if err != nil {
		return at, false
	}
	if ip := at.Addr(); ip.IsUnspecified() {
		local := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		if ip.Is6() {
			local = netip.IPv6Loopback()
		}
		at = netip.AddrPortFrom(local, at.Port())
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := recordmark.Dial(ctx, at.String(), recordmark.Config{Wrap: reach.TraceOf(ctx).Dialed})
	if err != nil {
		return at, false
	}
	defer func() {
		conn.Close()
		<-conn.Done()
	}()
	if m.Netid == rpcbind.NetidRDMA || m.Netid == rpcbind.NetidRDMA6 {
		return at, true
	}
	const null = 0
	err = oncrpc.NewClient(conn, m.Program, m.Version, oncrpc.AuthNone()).Call(ctx, null, nil, nil)
	var denied *oncrpc.AuthError
	return at, err == nil || errors.As(err, &denied)
}
