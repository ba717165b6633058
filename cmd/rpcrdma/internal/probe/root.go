package probe

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// stepRoot reports what the caller may do in the root of the export, and whether root is squashed.
func (p *Prober) stepRoot(ctx context.Context) bool {
	limited, cancel := p.limit(ctx)
	defer cancel()
	c, h := p.client(), p.root.Handle
	name := cli.Printable(p.root.Export)
	a, err := c.GetAttr(limited, h)
	if err != nil {
		return p.failRoot(ctx, "GETATTR of "+name, err)
	}
	rights, err := c.Access(limited, h, nfs3.AccessAll)
	if err != nil {
		return p.failRoot(ctx, "ACCESS of "+name, err)
	}
	if p.info, err = c.FSInfo(limited, h); err != nil {
		return p.failRoot(ctx, "FSINFO of "+name, err)
	}
	id := p.Flags.Connections.Identity
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
	if p.flavor.Flavor() == oncrpc.FlavorSys { // others cannot call as user 0
		p.lookSquash(ctx, h, a)
	}
	return true
}

// failRoot reports why a call for the root of the export failed.
func (p *Prober) failRoot(ctx context.Context, what string, err error) bool {
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

// maxSquashTried bounds how many files lookSquash checks, besides the root of the export.
const maxSquashTried = 32

// squash is what is known about whether the server squashes root. ACCESS shows it: root may read
// and look up whatever the mode is, and modify unless the export is read-only.
type squash struct {
	isRoot   bool // user 0 has a right that nobody does not have, nor everybody by the mode
	isNobody bool // user 0 lacks what root has everywhere
	lacks    bool // user 0 may not modify something
	writable bool // somebody may modify something: the export is not read-only
}

// file adds what one file shows: its attributes, and the rights of user 0, of its owner, and of
// nobody.
func (s *squash) file(a nfs3.Fattr, root, owner, none nfs3.Access) {
	must := nfs3.AccessRead
	if a.Type == nfs3.TypeDir {
		must |= nfs3.AccessLookup
	}
	s.isNobody = s.isNobody || root&must != must
	s.isRoot = s.isRoot || root&^none != 0
	s.lacks = s.lacks || root&nfs3.AccessModify == 0
	s.writable = s.writable || (owner|none)&nfs3.AccessModify != 0
}

// RootIs says whether a server squashes user 0.
type RootIs string

// What a server may do with user 0.
const (
	RootIsRoot   RootIs = "no"    // not squashed
	RootIsNobody RootIs = "yes"   // squashed
	RootReads    RootIs = "maybe" // squashed, or else the export is read-only
	RootUnknown  RootIs = "unknown"
)

// told returns the conclusion.
func (s *squash) told() RootIs {
	switch {
	case s.isNobody, s.lacks && s.writable && !s.isRoot:
		return RootIsNobody
	case s.isRoot:
		return RootIsRoot
	case s.lacks:
		return RootReads
	}
	return RootUnknown
}

// lookSquash checks whether root is squashed: at the root of the export, then at the files in it,
// until it is known.
func (p *Prober) lookSquash(ctx context.Context, h nfs3.FH, a nfs3.Fattr) {
	ctx, cancel := p.limit(ctx)
	defer cancel()
	var s squash
	tried := 0
	for h, a := range p.files(ctx, h, a) {
		var rights [3]nfs3.Access
		for i, uid := range []uint32{0, a.UID, nfsserver.Nobody} {
			r, err := p.as(uid, a.GID, i == 1).Access(ctx, h, nfs3.AccessAll)
			if err != nil {
				p.report.note(nil, "probe cannot tell whether root is squashed: %s", words.Reason(err))
				return
			}
			rights[i] = r
		}
		s.file(a, rights[0], rights[1], rights[2])
		if is := s.told(); is == RootIsRoot || is == RootIsNobody || tried == maxSquashTried {
			break
		}
		tried++
	}
	is := s.told()
	f := Finding{Status: Note, Values: map[string]any{"squashed": is}}
	switch is {
	case RootUnknown:
		f.Found = "probe cannot tell whether root is squashed: user 0 and nobody may do the same"
	case RootIsRoot:
		f.Status, f.Found = OK, "root is not squashed: user 0 may do what nobody may not"
	default:
		f.Cause, f.Found = CauseSquashed, "the server takes user 0 for nobody"
		if is == RootReads {
			f.Found = "or read-only: user 0 may do no more than nobody"
		}
		f.Do = "root gets \"permission denied\" where nobody may not write, and chown fails. Work " +
			"as another user; or let root be root (Linux: no_root_squash among the export's " +
			"options; rpcrdma serve: --squash none)"
		if p.Flags.Connections.UID == 0 {
			f.Status = Warn
		}
	}
	p.report.add(f)
}

// as returns a client that calls as another user, and with member set as a member of group gid.
func (p *Prober) as(uid, gid uint32, member bool) *nfsclient.Client {
	if !member {
		gid = nfsserver.Nobody
	}
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "probe", UID: uid, GID: gid})
	if err != nil { // cannot happen: the credentials are short
		return p.client()
	}
	return nfsclient.New(p.conn, cred)
}

// files yields a directory, and then the files in it, with attributes, if the caller sees them.
func (p *Prober) files(ctx context.Context, h nfs3.FH,
	a nfs3.Fattr) iter.Seq2[nfs3.FH, nfs3.Fattr] {
	return func(yield func(nfs3.FH, nfs3.Fattr) bool) {
		if !yield(h, a) {
			return
		}
		for e, err := range p.client().ReadDir(ctx, h) {
			if err != nil {
				return
			}
			if e.Attr.Present && e.File.Present && (e.Attr.Attr.Type == nfs3.TypeDir ||
				e.Attr.Attr.Type == nfs3.TypeReg) && !yield(e.File.FH, e.Attr.Attr) {
				return
			}
		}
	}
}
