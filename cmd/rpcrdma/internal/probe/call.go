package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// stepCall connects as other commands do, and calls NULL of NFS.
func (p *Prober) stepCall(ctx context.Context) bool {
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
func (p *Prober) failNull(err error) bool {
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

// stepConf checks for CONF_RDMA, over a connection of its own.
func (p *Prober) stepConf(ctx context.Context) bool {
	if !p.at.OverRDMA() {
		return true
	}
	ctx, cancel := p.limit(ctx)
	defer cancel()
	flags := newConfFlags()
	flags.crc, flags.Identity = p.Flags.Connections.CRC, p.Flags.Connections.Identity
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

// noVersion is a version that no program has. The error for it tells the supported versions.
const noVersion = 99

// stepProgram reports which programs and versions the connection offers.
func (p *Prober) stepProgram(ctx context.Context) bool {
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
func (p *Prober) lookGSS(ctx context.Context) bool {
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
