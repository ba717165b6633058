package probe

import (
	"context"
	"net"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// nameStep looks up the host.
type nameStep struct {
	*scene

	// What begins in the background once the address is known.
	rpcbind *rpcbindStep
	roce    *roceStep
	look    *portLook
}

// run looks up the host. Then it starts in the background what needs only the address.
func (p *nameStep) run(ctx context.Context) bool {
	limited, cancel := p.limit(ctx)
	defer cancel()
	host := p.at.Host
	addrs, err := net.DefaultResolver.LookupHost(limited, host)
	if err != nil {
		return p.report.fail(CauseNoHost, "host "+cli.Printable(host)+" has no address",
			p.explain(p.at, err))
	}
	if ip := net.ParseIP(addrs[0]); ip != nil {
		p.loopback = ip.IsLoopback()
	}
	values := map[string]any{"host": host, "addresses": addrs}
	if slices.Contains(addrs, host) {
		p.report.ok(values, "%s is an address", host)
	} else {
		p.report.ok(values, "%s is %s", cli.Printable(host), strings.Join(addrs, ", "))
	}
	p.maps = begun(func() registrations { return p.rpcbind.registered(ctx) })
	p.roce.begin(ctx, addrs[0])
	if p.at.Port != 0 {
		p.look.begin(ctx)
	}
	return true
}
