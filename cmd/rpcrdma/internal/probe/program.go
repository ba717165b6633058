package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// noVersion is a version that no program has. The error for it tells the supported versions.
const noVersion = 99

// programStep asks for programs, versions and flavours.
type programStep struct{ *caller }

// run reports which programs and versions the connection offers.
func (p *programStep) run(ctx context.Context) bool {
	ctx, cancel := p.limit(ctx)
	defer cancel()
	values := make(map[string]any)
	var words []string
	for _, program := range []struct {
		name   string
		number uint32
	}{{"NFS", nfs3.Program}, {"MOUNT", mount3.Program}} {
		low, high, ok := versions(ctx, p.conn, program.number)
		values[strings.ToLower(program.name)] = ok
		switch {
		case !ok:
			words = append(words, "no "+program.name)
		default:
			words = append(words, program.name+" "+versionsText(low, high))
		}
		if ok {
			values[strings.ToLower(program.name)] = map[string]any{"low": low, "high": high}
		}
	}
	p.report.ok(values, "on this connection: %s", strings.Join(words, ", "))
	return p.lookGSS(ctx)
}

// lookGSS checks whether the server takes RPCSEC_GSS, by a call with an unknown context: a server
// that takes it says so (RFC 2203 section 5.3.3.3).
func (p *programStep) lookGSS(ctx context.Context) bool {
	var e xdr.Encoder
	// version 1, RPCSEC_GSS_DATA, a number, rpc_gss_svc_none
	for _, word := range []uint32{1, 0, 1, 1} {
		e.Uint32(word)
	}
	e.Opaque(make([]byte, 16), 16) // the handle
	stranger, err := oncrpc.FixedCred(oncrpc.Auth{Flavor: oncrpc.FlavorGSS, Body: e.Message().Inline})
	if err == nil {
		err = nfsclient.New(p.conn, stranger).Null(ctx)
	}
	var denied *oncrpc.AuthError
	switch {
	case !errors.As(err, &denied):
		return p.report.note(nil, "probe cannot tell whether the server takes RPCSEC_GSS: %s", describe(err))
	case denied.Stat == oncrpc.GSSCredProblem, denied.Stat == oncrpc.GSSCtxProblem:
		return p.report.ok(map[string]any{"gss": true}, "the server takes RPCSEC_GSS, as Kerberos needs it")
	}
	return p.report.ok(map[string]any{"gss": false}, "the server does not take RPCSEC_GSS, which Kerberos needs")
}

// describe says how a call has ended.
func describe(err error) string {
	if err == nil {
		return "it accepts a context that does not exist"
	}
	return words.EndReason(err)
}

// versions asks for the versions of a program over a connection.
func versions(ctx context.Context, conn oncrpc.Transport, program uint32) (low, high uint32,
	ok bool) {
	c := oncrpc.NewClient(conn, program, noVersion, oncrpc.AuthNone())
	var accept *oncrpc.AcceptError
	err := c.Call(ctx, 0, nil, nil)
	if errors.As(err, &accept) && accept.Stat == oncrpc.ProgMismatch {
		return accept.Low, accept.High, true
	}
	return 0, 0, false
}

// versionsText names versions.
func versionsText(low, high uint32) string {
	if low == high {
		return fmt.Sprintf("version %d", low)
	}
	return fmt.Sprintf("versions %d to %d", low, high)
}
