package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// maxProbed bounds how many exports probe mounts.
const maxProbed = 16

// maxSilent is after how many exports with a hanging disk probe stops trying others.
const maxSilent = 2

// inExports is where Linux's server has its exports.
//
//nolint:misspell // exportfs is a program
const inExports = " (Linux: /etc/exports, then exportfs -r)"

// mountStep mounts the exports.
type mountStep struct{ *caller }

// run finds MOUNT, and mounts the server's exports as the user of the flags.
func (p *mountStep) run(ctx context.Context) bool {
	service, err := p.find(ctx)
	if err != nil {
		return p.failSearch(err)
	}
	defer service.Close()
	limited, cancel := p.limit(ctx)
	defer cancel()
	list, err := service.Exports(limited)
	if err != nil {
		if words.TimedOut(err) {
			return p.failSilent(ctx, "EXPORT of MOUNT")
		}
		p.report.note(nil, "EXPORT of MOUNT fails: %v", words.Bottom(err))
	}
	asked, _, listed := nfsmount.ExportOf(list, p.at.Path)
	if p.at.Path != "/" && !listed {
		asked = p.at.Path
	}
	paths := []string{asked}
	switch {
	case p.at.Path != "/" || listed:
	case err != nil: // the server may export /
		paths, asked = []string{"/"}, "/"
	default:
		paths, asked = nil, ""
	}
	for _, x := range list[:min(len(list), maxProbed)] {
		if x.Path != asked {
			paths = append(paths, x.Path)
		}
	}
	if len(paths) == 0 {
		return p.report.fail(CauseNoExport, "the server exports nothing",
			"export something on the server"+inExports)
	}
	conn, silent := p.conn, 0
	var fails []Finding
	for _, path := range paths {
		dir := path
		if path == asked {
			dir = p.at.Path
		}
		f := p.one(ctx, service, path, dir, list)
		if f.Cause == CauseDisk {
			silent++
		}
		if f.Status == Fail && path != asked && p.conn == conn {
			fails = append(fails, f)
			f.Status, f.Do, f.Found = Note, "", "another export: "+f.Found
		}
		if !p.report.add(f) {
			return false
		}
		if silent == maxSilent {
			break
		}
	}
	if len(list) > maxProbed {
		p.report.note(map[string]any{"exports": len(list)}, "%d more exports, which probe does not try",
			len(list)-maxProbed)
	}
	if p.root == nil {
		return p.report.fail(fails[0].Cause, "no export can be mounted", fails[0].Do)
	}
	return p.reportVersions(ctx, service)
}

// searchTime bounds the search for MOUNT, which takes up to 5 s in each place.
const searchTime = 30 * time.Second

// find looks for MOUNT over the connection, by rpcbind, and at the usual ports.
func (p *mountStep) find(ctx context.Context) (*nfsmount.Service, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	return nfsmount.FindService(ctx, p.conn, nfsmount.Config{
		Host: p.at.Host, Port: p.at.MountPort, Flavor: p.server.Cred, Flavors: p.server.Have(),
		Wrap: reach.TraceOf(ctx).Dialed,
	})
}

// failSearch reports why MOUNT was not found. If a port does not answer, a firewall is the
// likely cause.
func (p *mountStep) failSearch(err error) bool {
	do := p.server.ExplainMount(err).Error() + ". NFS version 3 needs MOUNT: start it there " +
		"(Linux: rpc.mountd)"
	if words.TimedOut(err) {
		return p.report.fail(CauseFirewall, "MOUNT does not answer", do+
			". A firewall may block its port")
	}
	if port := p.at.MountPort; port != 0 {
		do += fmt.Sprintf(". The URL names port %d: leave out ?mountport, so that probe looks for MOUNT", port)
	}
	return p.report.fail(CauseNoMount, "no MOUNT answers", do)
}

// one mounts the export that holds a directory, and unmounts it. It keeps the first root
// handle for the steps that follow.
func (p *mountStep) one(ctx context.Context, s *nfsmount.Service, path, dir string,
	list []mount3.Export) Finding {
	limited, cancel := p.limit(ctx)
	defer cancel()
	values := map[string]any{"export": path}
	name := cli.Printable(path)
	root, err := s.Mount(limited, dir)
	found := name + " can be mounted from this host"
	if err == nil {
		if len(root.Flavors) > 0 {
			values["sec"], values["taken"] = mount3.FormatFlavors(root.Flavors), root.Flavor.String()
		}
		if slices.ContainsFunc(root.Flavors, mount3.Flavor.Proves) {
			found += fmt.Sprintf(" with sec=%s; ", mount3.FormatFlavors(root.Flavors))
			if why := p.server.Fallback(&root); why != "" {
				found += why
			} else {
				found += fmt.Sprintf("calls have %v", root.Flavor)
			}
		}
		if p.root == nil {
			p.flavor, err = p.server.Flavor(root.Flavor)
		}
	}
	if err == nil {
		if p.root == nil {
			p.root = &root
		}
		_ = root.Unmount(limited) // this only changes the server's list of mounts
		return Finding{Status: OK, Values: values, Found: found}
	}
	if words.TimedOut(err) {
		f := p.silent(ctx, "MNT of "+name)
		f.Values = values
		return f
	}
	cause, do := mountCause(err, list)
	found = name + " cannot be mounted"
	var denied *oncrpc.AuthError
	switch {
	case errors.As(err, &denied):
		found, do = found+": "+denied.Error(), wantsMore(p.at)
	case cause == CauseTooWeak:
		err = p.server.ExplainMount(err)
		do = err.Error()
		cause = unprovenCause(err, cause)
	case cause == CauseNotForHost:
		found += " from this host"
	}
	return Finding{Status: Fail, Cause: cause, Values: values, Found: found, Do: do}
}

// unprovenCause returns the cause of a *remote.UnprovenError, and otherwise for other errors.
func unprovenCause(err error, otherwise Cause) Cause {
	var unproven *remote.UnprovenError
	if !errors.As(err, &unproven) {
		return otherwise
	}
	switch unproven.Kind {
	case remote.TicketExpired:
		return CauseTicketExpired
	case remote.HostByAddress:
		return CauseHostByAddress
	}
	return CauseNoTicket
}

// mountCause returns why an export cannot be mounted, and what to do.
func mountCause(err error, list []mount3.Export) (Cause, string) {
	var (
		refused *nfsmount.Error
		denied  *oncrpc.AuthError
		do      = err.Error()
	)
	switch {
	case errors.As(err, new(*nfsmount.FlavorError)):
		return CauseTooWeak, do
	case errors.As(err, &denied):
		return authCause(denied), do
	case !errors.As(err, &refused):
		return unprovenCause(err, CauseFailed), do
	case errors.Is(err, mount3.ErrAcces), errors.Is(err, mount3.ErrPerm):
		switch {
		case len(list) > 0 && !refused.Listed:
			return CauseNoExport, do
		case refused.Unprivileged && everybody(refused):
			return CausePort1024, do
		}
		return CauseNotForHost, do + ". Add this host to the export's clients" + inExports
	case errors.Is(err, mount3.ErrNoEnt):
		return CauseNoExport, do
	case errors.Is(err, mount3.ErrServerFault), errors.Is(err, mount3.ErrIO):
		return CauseGone, do + ". The server lists the export, but fails to open it: what it " +
			"exports has been removed, or its disk fails. The server's log says which"
	}
	return CauseFailed, do
}

// everybody reports whether the server says that an export is for all hosts.
func everybody(refused *nfsmount.Error) bool {
	for _, x := range refused.Exports {
		if x.Path == refused.Path {
			return len(x.Groups) == 0 || strings.Join(x.Groups, "") == "*"
		}
	}
	return false
}

// reportVersions reports where MOUNT is, and its versions. The service cannot be used afterwards.
func (p *mountStep) reportVersions(ctx context.Context, s *nfsmount.Service) bool {
	ctx, cancel := p.limit(ctx)
	defer cancel()
	conn, where := s.TakeTransport(), "on the connection to NFS"
	at := p.conn
	if conn != nil {
		defer reach.End(conn)
		at, where = conn, fmt.Sprintf("at TCP port %v", conn.RemoteAddr())
	}
	values := map[string]any{"where": at.RemoteAddr().String()}
	low, high, ok := versions(ctx, at, mount3.Program)
	if !ok {
		return p.report.ok(values, "MOUNT version 3 is %s", where)
	}
	values["low"], values["high"] = low, high
	return p.report.ok(values, "MOUNT %s is %s", versionsText(low, high), where)
}
