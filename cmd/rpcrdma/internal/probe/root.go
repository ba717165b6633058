package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// rootStep asks for the root directory of the export.
type rootStep struct {
	*caller
	info nfs3.FSInfo // of the export
}

// run reports what the caller may do in the root of the export, whether the port matters, and
// whether root is squashed.
func (p *rootStep) run(ctx context.Context) bool {
	limited, cancel := p.limit(ctx)
	defer cancel()
	c, h := p.client(), p.root.Handle
	name := cli.Printable(p.root.Export)
	a, err := c.GetAttr(limited, h)
	if err != nil {
		return p.fail(ctx, "GETATTR of "+name, err)
	}
	rights, err := c.Access(limited, h, nfs3.AccessAll)
	if err != nil {
		return p.fail(ctx, "ACCESS of "+name, err)
	}
	if p.info, err = c.FSInfo(limited, h); err != nil {
		return p.fail(ctx, "FSINFO of "+name, err)
	}
	id := p.flags.Connections.Identity
	values := map[string]any{
		"mode": fmt.Sprintf("%04o", a.Mode), "uid": a.UID, "gid": a.GID,
		"rights": rightsText(rights), "caller": uint32(id.UID),
		"rtmax": p.info.RtMax, "wtmax": p.info.WtMax,
	}
	caller := "user " + id.UID.String()
	if p.flavor.Flavor() == oncrpc.FlavorGSS {
		caller = id.Kerberos.Name()
		values["caller"] = caller
	}
	text := fmt.Sprintf("%s has mode %04o and belongs to user %d; %s may %s; ", name, a.Mode,
		a.UID, caller, rightsText(rights))
	text += "READ up to " + sizeText(p.info.RtMax) + ", WRITE " + sizeText(p.info.WtMax)
	if rights&(nfs3.AccessRead|nfs3.AccessLookup) == 0 {
		p.report.add(Finding{Status: Warn, Cause: CauseDenies, Found: text, Values: values,
			Do: "use --uid to call as a user who may, or change the mode of the directory on the server"})
	} else {
		p.report.ok(values, "%s", text)
	}
	if p.flavor.Flavor() == oncrpc.FlavorGSS && rights&nfs3.AccessModify == 0 {
		p.report.note(nil, "%s may not modify it. If the server has no such user, it takes this "+
			"principal for nobody, and its log says so", caller)
	}
	(&highPortLook{p.caller}).run(ctx)
	if p.flavor.Flavor() == oncrpc.FlavorSys { // others cannot call as user 0
		(&squashLook{p.caller}).run(ctx, h, a)
	}
	return true
}

// fail reports why a call for the root of the export failed.
func (p *rootStep) fail(ctx context.Context, what string, err error) bool {
	var denied *oncrpc.AuthError
	switch {
	case words.TimedOut(err):
		return p.failSilent(ctx, what)
	case errors.As(err, new(*gss.OpError)):
		do := ""
		if !explained(err) {
			do = "klist shows the tickets; the server's log says what it does not accept"
		}
		return p.report.fail(unprovenCause(err, CauseDenied), what+": "+words.Reason(err), do)
	case errors.As(err, &denied):
		return p.report.fail(authCause(denied), what+": "+words.Reason(err),
			wantsMore(p.at))
	case errors.Is(err, nfs3.ErrPerm):
		m := &remote.Export{Client: p.client(), Root: *p.root}
		server := &remote.Server{Target: p.at, Conn: p.conn}
		if why := server.CheckPort(ctx, m); why != nil {
			return p.report.fail(CausePort1024, what+": "+words.Reason(err), why.Error())
		}
	}
	cause := CauseFailed
	if errors.Is(err, nfs3.ErrAcces) || errors.Is(err, nfs3.ErrPerm) {
		cause = CauseDenies
	}
	return p.report.fail(cause, what+": "+words.Reason(err)+p.denied(),
		"see the server's log, and the options of the export")
}

// explained reports whether an error of making a context already says what to do.
func explained(err error) bool {
	return errors.As(err, new(*gss.StatusError)) || errors.As(err, new(*oncrpc.AuthError)) ||
		errors.Is(err, context.DeadlineExceeded)
}

// rightsText lists rights of ACCESS in words.
func rightsText(r nfs3.Access) string {
	var words []string
	for _, right := range []struct {
		bit  nfs3.Access
		name string
	}{
		{nfs3.AccessRead, "read"}, {nfs3.AccessLookup, "look up"}, {nfs3.AccessModify, "modify"},
		{nfs3.AccessExtend, "extend"}, {nfs3.AccessDelete, "delete"},
		{nfs3.AccessExecute, "execute"},
	} {
		if r&right.bit != 0 {
			words = append(words, right.name)
		}
	}
	if len(words) == 0 {
		return "do nothing"
	}
	return strings.Join(words, ", ")
}

// sizeText is a size in words.
func sizeText(n uint32) string {
	s := cli.Size(n)
	return s.String()
}
