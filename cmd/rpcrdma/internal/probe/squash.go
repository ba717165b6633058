package probe

import (
	"context"
	"iter"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

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

// squashLook checks whether the server squashes root.
type squashLook struct{ *caller }

// run reports whether root is squashed. It looks at the root of the export, and then at the files
// in it, until that is known.
func (p *squashLook) run(ctx context.Context, h nfs3.FH, a nfs3.Fattr) {
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
		if p.flags.Connections.UID == 0 {
			f.Status = Warn
		}
	}
	p.report.add(f)
}

// as returns a client that calls as another user, and with member set as a member of group gid.
func (p *squashLook) as(uid, gid uint32, member bool) *nfsclient.Client {
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
func (p *squashLook) files(ctx context.Context, h nfs3.FH,
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
