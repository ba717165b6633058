package nfsserver

import (
	"context"
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// request is what a procedure knows of its call besides the arguments, and memory that is
// used again.
type request struct {
	server    *Server
	conn      oncrpc.Transport
	flavor    mount3.Flavor
	principal string   // who calls, as RPCSEC_GSS has proved; "" with other flavours
	cred      vfs.Cred // who calls until enter has found the export, then as that sees him
	known     bool     // which user the caller is, or says he is

	entered  *export // that the call is for, when the peer may use it
	rule     *Rule   // by which he may
	access   Access  // that he has by it
	squashed bool    // the caller is another there than he says

	read    vfs.ReadResult
	entries []nfs3.Entry
}

// begin takes what counts of a call: nfs3.ErrJukebox.
func (q *request) begin(ctx context.Context, s *Server, c *oncrpc.Call) error {
	q.server, q.conn, q.flavor = s, c.Conn, mount3.FlavorOf(c)
	if caller, ok := c.Identity().(*gss.Caller); ok {
		q.principal = caller.Principal
		return q.identify(ctx)
	}
	if sys, ok := c.Sys(); ok {
		q.know(&vfs.Cred{UID: sys.UID, GID: sys.GID, GIDs: sys.GIDs})
	}
	return nil
}

// identify finds out which user a principal is.
func (q *request) identify(ctx context.Context) error {
	if q.server.user == nil {
		return nil
	}
	user, err := q.server.user(ctx, q.principal)
	switch {
	case err != nil:
		q.server.unidentified(q.principal, err)
		return nfs3.ErrJukebox
	case user != nil:
		q.know(user)
	}
	return nil
}

func (q *request) know(c *vfs.Cred) {
	q.cred = vfs.Cred{UID: c.UID, GID: c.GID, GIDs: append(q.cred.GIDs[:0], c.GIDs...)}
	q.known = true
}

// reset forgets all but the memory.
func (q *request) reset() {
	clear(q.read.Data)
	clear(q.entries)
	*q = request{
		cred:    vfs.Cred{GIDs: q.cred.GIDs[:0]},
		read:    vfs.ReadResult{Data: q.read.Data[:0]},
		entries: q.entries[:0],
	}
}

// entrance says what flavours calls may have that those of an export's are not. Who comes by one of
// them is Anon there.
type entrance int

const (
	byFlavor entrance = iota // none
	byRoot                   // those that prove nothing, if others of the export's prove who calls
	byMount                  // all
)

func (by entrance) admits(f mount3.Flavor, r *Rule) bool {
	unproved := f == mount3.FlavorSys || f == mount3.FlavorNone
	return by == byMount || by == byRoot && unproved && r.proves()
}

// enter checks that the call may be made for an export, and squashes the caller as that says. The
// call counts as one for the export until leave.
func (q *request) enter(e *export, by entrance) error {
	if q.entered == e {
		return nil
	}
	r, err := q.server.admit(e, q.conn)
	if err != nil {
		return err
	}
	access, may := r.access(q.flavor)
	if !may && !by.admits(q.flavor, r) {
		return q.server.refuseFlavor(e, q, r)
	}
	if q.entered != nil {
		q.leave() // for another export, with which the call will not be executed
	}
	if !e.begin() {
		return nfs3.ErrStale
	}
	if !q.known || !may {
		access.Squash = SquashAll
	}
	uid := q.cred.UID
	groups := q.server.groups
	if groups != nil && q.flavor == mount3.FlavorSys && access.Squash != SquashAll {
		q.cred.GIDs = append(q.cred.GIDs[:0], groups(uid)...)
	}
	r.squash(&q.cred, access.Squash)
	q.entered, q.rule, q.access, q.squashed = e, r, access, !q.known || q.cred.UID != uid
	return nil
}

// leave ends what enter has begun.
func (q *request) leave() {
	if e := q.entered; e != nil {
		q.entered = nil
		e.end()
	}
}

// export enters the export of a handle.
func (q *request) export(h *nfs3.FH) (*export, error) {
	e, err := q.exportOf(h)
	if err != nil {
		return nil, err
	}
	return e, q.enter(e, byFlavor)
}

// exportOf returns the export of a handle. A file system that no export has any more was exported
// before a restart.
func (q *request) exportOf(h *nfs3.FH) (*export, error) {
	b := h.Bytes()
	if len(b) < 8 {
		return nil, nfs3.ErrBadHandle
	}
	e := q.server.table.Load().byID[binary.BigEndian.Uint64(b)]
	if e == nil {
		return nil, nfs3.ErrStale
	}
	return e, nil
}

// fs is export for a procedure that changes nothing.
func (q *request) fs(h *nfs3.FH) (vfs.FS, error) {
	e, err := q.export(h)
	if err != nil {
		return nil, err
	}
	return e.FS, nil
}

// rootFS is fs for the procedures by which the root of an export is found, with a flavour that
// proves nothing where others are asked for (RFC 2623 section 2.3.2). As with Linux it is GETATTR
// and FSINFO, not FSSTAT and PATHCONF.
func (q *request) rootFS(h *nfs3.FH) (vfs.FS, error) {
	e, err := q.exportOf(h)
	if err != nil {
		return nil, err
	}
	by := byFlavor
	if e.proves && *h == e.FS.Root() {
		by = byRoot
	}
	return e.FS, q.enter(e, by)
}

// change is export for a procedure that changes the file or directory h, and returns what became of
// it in wcc: where that is not allowed it returns what is.
func (q *request) change(ctx context.Context, h *nfs3.FH, wcc *nfs3.WccData) (vfs.FS, error) {
	e, err := q.export(h)
	if err != nil {
		return nil, err
	}
	if q.access.ReadOnly {
		return nil, unchanged(ctx, e.FS, h, wcc, nfs3.ErrROFS)
	}
	return e.FS, nil
}

// unchanged fills wcc for a call that fails with err before it changes anything. A handle of no
// file is what the caller is told of first.
func unchanged(ctx context.Context, fs vfs.FS, h *nfs3.FH, wcc *nfs3.WccData, err error) error {
	attr, bad := fs.GetAttr(ctx, *h)
	if bad != nil {
		return bad
	}
	wcc.After = nfs3.PostOpAttrOf(attr)
	return err
}
