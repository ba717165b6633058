package probe

import (
	"context"
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// highPortLook checks whether Linux may use the export. Over RDMA it calls from a port above 1023,
// and probe, run as root, from one below 1024.
type highPortLook struct{ *caller }

// run repeats GETATTR of the root of the export over a connection from a port above 1023, and warns
// if the server refuses that.
func (p *highPortLook) run(ctx context.Context) {
	a, ok := p.conn.LocalAddr().(*net.TCPAddr)
	if p.at.Scheme != "rdma" || !ok || a.Port >= 1024 {
		return
	}
	ctx, cancel := p.limit(ctx)
	defer cancel()
	conn, err := p.dial(ctx)
	if err == nil {
		defer reach.End(conn)
		_, err = nfsclient.New(conn, p.flavor).GetAttr(ctx, p.root.Handle)
	}
	name := cli.Printable(p.root.Export)
	switch {
	case err == nil:
	case errors.Is(err, nfs3.ErrAcces), errors.Is(err, nfs3.ErrPerm):
		p.report.add(Finding{Status: Warn, Cause: CausePort1024,
			Found: name + " refuses calls from ports above 1023; Linux over RDMA calls from such a port",
			Do: "add insecure to the options of the export, or Linux cannot mount it over RDMA. Probe " +
				"runs as root here, and called from a port below 1024"})
	default:
		p.report.note(nil, "probe cannot tell whether %s takes calls from ports above 1023, as Linux "+
			"makes them over RDMA: %s", name, words.EndReason(err))
	}
}

// dial connects over iWARP from any port, as Linux does.
func (p *highPortLook) dial(ctx context.Context) (*rpcrdma.Conn, error) {
	f := p.flags.Connections
	low := f.RDMA()
	low.AnyPort = true
	d, err := p.at.Dialer(reach.TraceOf(ctx), low)
	if err != nil {
		return nil, err
	}
	return rpcrdma.Dial(ctx, d, p.at.Addr(), rpcrdma.Config{
		Logger: reach.Quiet, Dialect: f.Dialect.Value, InlineSend: int(f.Inline), InlineRecv: int(f.Inline),
	})
}
