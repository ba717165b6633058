package gateway

import (
	"fmt"
	"io"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/serve"
)

// greet prints where clients reach the gateway, in one write.
func (g *running) greet(out io.Writer) error {
	var b strings.Builder
	addr := serve.AddrPort(g.ports.TCP.Addr())
	fmt.Fprintf(&b, "gateway to %s, over TCP on %s\n", g.cfg.server.Server(), g.ports.TCP.Addr())
	if g.cfg.mount != nil {
		fmt.Fprintf(&b, "MOUNT goes to %s\n", g.cfg.mount.Base())
	}
	for i, p := range g.cfg.allow {
		if i == 0 {
			b.WriteString("for clients of")
		}
		fmt.Fprintf(&b, " %v", p)
	}
	if len(g.cfg.allow) > 0 {
		b.WriteString("\n")
	}
	if g.rpcbind != nil {
		fmt.Fprintf(&b, "registered with rpcbind for %s\n", strings.Join(g.rpcbind.Netids(), ", "))
	}
	g.watched.Greet(&b)
	daemon.GreetDebug(g.debug, &b)
	fmt.Fprintf(&b, "to mount an export /EXPORT from Linux:\n"+
		"    mount -t nfs -o vers=3,tcp,port=%d,mountport=%[1]d,mountproto=tcp,nolock %s /mnt\n",
		addr.Port(), serve.Quote(serve.HostAt(addr.Addr())+":/EXPORT"))
	_, err := io.WriteString(out, b.String())
	return err
}
