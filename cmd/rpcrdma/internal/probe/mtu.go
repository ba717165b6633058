package probe

import (
	"context"
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Bytes of arguments that fill packets of usual sizes. fillInline fits in one Send of 4096 bytes;
// fillLong goes by RDMA Read.
const (
	fillInline = 3 << 10
	fillLong   = 16 << 10
)

// mtuStep checks that packets of full size pass.
type mtuStep struct {
	*caller
	port *portStep // with the path of its connection
	read *readStep // which has read a large reply, or not
}

// run makes a call that fills packets. The step before it has read a reply that does.
func (p *mtuStep) run(ctx context.Context) bool {
	n := fillLong
	if c, ok := p.conn.(*rpcrdma.Conn); ok {
		if send, _ := c.Inline(); send > fillInline {
			n = fillInline
		}
	}
	limited, cancel := p.limit(ctx)
	defer cancel()
	c := oncrpc.NewClient(p.conn, nfs3.Program, nfs3.Version, oncrpc.AuthNone())
	what := "a call of " + sizeText(uint32(n))
	switch err := c.Call(limited, 0, filling(n), nil); {
	case words.TimedOut(err):
		f, _ := p.silence(ctx, what, "to the server", "here")
		return p.report.add(f)
	case !replied(err):
		return p.report.fail(CauseFailed, what+": "+words.EndReason(err), "see the server's log")
	}
	values := map[string]any{"toServer": n, "fromServer": p.read.large}
	text, status := what+" is answered, and ", OK
	if p.read.large {
		text += "a long reply came"
	} else {
		text += "probe cannot tell whether packets of full size come back: it read nothing long"
		status = Note
	}
	if path := p.path(ctx); path.mtu > 0 {
		values["mtu"], values["mss"] = path.mtu, path.mss
		text = fmt.Sprintf("the path's MTU is %d, a TCP segment %d; ", path.mtu, path.mss) + text
	}
	return p.report.add(Finding{Status: status, Found: text, Values: values})
}

// tcpPath is the path MTU to a server, and the payload of a TCP segment, in bytes. Both are 0 if
// the kernel does not tell.
type tcpPath struct{ mtu, mss int }

// path returns the path to the server of the URL.
func (p *mtuStep) path(ctx context.Context) tcpPath {
	if p.at.OverRDMA() {
		return p.port.setup.path
	}
	ctx, cancel := p.limit(ctx)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.at.Addr())
	if err != nil {
		return tcpPath{}
	}
	defer conn.Close()
	return tcpPathOf(conn.(*net.TCPConn))
}

// filling is arguments of some bytes. NULL takes none, so a server may refuse them; that is an
// answer, too.
type filling int

// MarshalXDR appends zeros.
func (n filling) MarshalXDR(e *xdr.Encoder) {
	for range n / 4 {
		e.Uint32(0)
	}
}
