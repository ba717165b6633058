package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// callStep makes the first call.
type callStep struct{ *caller }

// run connects as other commands do, and calls NULL of NFS.
func (p *callStep) run(ctx context.Context) bool {
	began := time.Now()
	limited, cancel := p.limit(ctx)
	defer cancel()
	conn, err := p.connect(limited)
	if err != nil {
		cause := unprovenCause(err, CauseFailed)
		if words.TimedOut(err) {
			cause = CauseNoAnswer
		}
		return p.report.fail(cause, "no connection: "+words.EndReason(err), p.explain(p.at, err))
	}
	p.conn = conn
	connected := time.Since(began)
	began = time.Now()
	if err := p.null(ctx, conn); err != nil {
		return p.failNull(err)
	}
	took := time.Since(began)
	values := map[string]any{
		"connected": connected.Seconds(), "answered": took.Seconds(),
		"from": conn.LocalAddr().String(), "to": conn.RemoteAddr().String(),
	}
	text := fmt.Sprintf("NULL of NFS version 3 is answered in %s; connected in %s", pingTime(took),
		pingTime(connected))
	switch c := conn.(type) {
	case *rpcrdma.Conn:
		grant, _, _ := c.Credits()
		send, recv := c.Inline()
		info := c.Info()
		values["credits"], values["inlineSend"], values["inlineRecv"] = grant, send, recv
		values["ird"], values["ord"] = info.IRD, info.ORD
		text += fmt.Sprintf("; %d credits; inline %d to the server, %d from it", grant, send, recv)
	case *recordmark.Conn:
		state, tls := c.TLS()
		values["tls"] = tls
		if tls {
			text += "; TLS with " + state.ServerName
		}
	}
	return p.report.ok(values, "%s", text)
}

// failNull reports why NULL over the connection failed.
func (p *callStep) failNull(err error) bool {
	var (
		accept *oncrpc.AcceptError
		denied *oncrpc.AuthError
		cause  = CauseFailed
		do     = p.explain(p.at, err)
	)
	switch {
	case words.TimedOut(err):
		cause = CauseNoAnswer
		do = "the server takes connections, but does not answer calls: see its log"
	case errors.As(err, &denied):
		cause, do = authCause(denied), wantsMore(p.at)
	case errors.As(err, &accept) && accept.Stat == oncrpc.ProgMismatch:
		cause = CauseVersion
	case errors.As(err, &accept):
		cause = CauseWrongPort
	}
	return p.report.fail(cause, "NULL of NFS version 3: "+words.EndReason(err), do)
}

// authCause returns the cause for a denial.
func authCause(err *oncrpc.AuthError) Cause {
	if err.Stat == oncrpc.AuthTooWeak {
		return CauseTooWeak
	}
	return CauseDenied
}

// wantsMore says what to do if a server denies calls.
func wantsMore(t reach.Target) string {
	text := "the server wants proof of who calls: use ?sec=krb5 in the URL, with a Kerberos ticket that " +
		"kinit gets"
	if t.Scheme == "tcp" && !t.TLS {
		text += ", or TLS, with ?tls in the URL"
	}
	return text + ". Or have the server take AUTH_SYS: on Linux, with sec=sys among the export's options"
}

// confStep checks for CONF_RDMA.
type confStep struct{ *scene }

// run checks for CONF_RDMA, over a connection of its own.
func (p *confStep) run(ctx context.Context) bool {
	if !p.at.OverRDMA() {
		return true
	}
	ctx, cancel := p.limit(ctx)
	defer cancel()
	flags := newConfFlags()
	flags.crc, flags.Identity = p.flags.Connections.CRC, p.flags.Connections.Identity
	a, err := ask(ctx, flags, p.at)
	switch {
	case err != nil:
		return p.report.note(nil, "CONF_RDMA: %v", explainConf(p.at, p.at, err))
	case a.program == 0:
		return p.report.ok(map[string]any{"program": 0},
			"no CONF_RDMA, as Linux's server has none: the inline sizes of the setup hold")
	}
	send, recv := a.now.MaxSend, a.now.MaxRecv
	return p.report.ok(
		map[string]any{"program": a.program, "inlineSend": send, "inlineRecv": recv},
		"CONF_RDMA is program %d: it raises inline to %d to the server, %d from it", a.program,
		send, recv)
}
