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

// request is the state of a call besides its arguments, and memory that is reused.
type request struct {
	server    *Server
	conn      oncrpc.Transport
	port      uint16 // of the peer, if kernels vouch for it, or else 0
	flavor    mount3.Flavor
	principal string   // of the caller, proved by RPCSEC_GSS; "" with other flavours
	cred      vfs.Cred // the caller's; enter squashes it by the export's rules
	known     bool     // the call says or proves which user the caller is

	entered  *export // the export of the call, once the peer was found to be allowed
	rule     *Rule   // that allows it
	access   Access  // that the rule gives
	squashed bool    // the rule changed the caller's user

	read    vfs.ReadResult
	entries []nfs3.Entry
}

// begin takes connection, flavour and caller from a call. It returns nfs3.ErrJukebox if the user of
// a principal cannot be looked up.
func (q *request) begin(ctx context.Context, s *Server, c *oncrpc.Call) error {
	q.server, q.conn, q.port, q.flavor = s, c.Conn, c.Origin().Port(), mount3.FlavorOf(c)
	if caller, ok := c.Identity().(*gss.Caller); ok {
		q.principal = caller.Principal
		return q.identify(ctx)
	}
	if sys, ok := c.Sys(); ok {
		q.know(&vfs.Cred{UID: sys.UID, GID: sys.GID, GIDs: sys.GIDs})
	}
	return nil
}

// identify looks up the user of the caller's principal.
func (q *request) identify(ctx context.Context) error {
	if q.server.user == nil {
		return nil
	}
	user, err := q.server.user(ctx, q.conn.RemoteAddr(), q.principal)
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

// reset clears the request, and keeps its memory.
func (q *request) reset() {
	clear(q.read.Data)
	clear(q.entries)
	*q = request{
		cred:    vfs.Cred{GIDs: q.cred.GIDs[:0]},
		read:    vfs.ReadResult{Data: q.read.Data[:0]},
		entries: q.entries[:0],
	}
}

// entrance says which calls are let in although the export's rule does not have their flavour.
// Their callers are squashed to Anon.
type entrance int

const (
	byFlavor entrance = iota // none
	byRoot                   // AUTH_SYS and AUTH_NONE, if the rule has a proving flavour
	byMount                  // all
)

func (by entrance) admits(f mount3.Flavor, r *Rule) bool {
	unproved := f == mount3.FlavorSys || f == mount3.FlavorNone
	return by == byMount || by == byRoot && unproved && r.proves()
}

// enter checks that the caller may use an export, and squashes the caller's credentials by its
// rule. The call counts as one for the export until leave. It returns nfs3.ErrJukebox if the
// caller's groups cannot be looked up.
func (q *request) enter(e *export, by entrance) error {
	if q.entered == e {
		return nil
	}
	r, err := q.server.admit(e, q)
	if err != nil {
		return err
	}
	access, may := r.access(q.flavor)
	if !may && !by.admits(q.flavor, r) {
		return q.server.refuseFlavor(e, q, r)
	}
	if !q.known || !may {
		access.Squash = SquashAll
	}
	uid := q.cred.UID
	lookUp := q.server.groups
	if lookUp != nil && q.flavor == mount3.FlavorSys && access.Squash != SquashAll {
		groups, err := lookUp(q.conn.RemoteAddr(), uid)
		if err != nil {
			q.server.ungrouped(uid, err)
			return nfs3.ErrJukebox
		}
		q.cred.GIDs = append(q.cred.GIDs[:0], groups...)
	}
	if q.entered != nil {
		q.leave() // of another export: LOOKUP crosses, or RENAME or LINK will fail
	}
	if !e.begin() {
		return nfs3.ErrStale
	}
	r.squash(&q.cred, access.Squash)
	q.entered, q.rule, q.access, q.squashed = e, r, access, !q.known || q.cred.UID != uid
	return nil
}

// leave undoes enter.
func (q *request) leave() {
	if e := q.entered; e != nil {
		q.entered = nil
		e.end()
	}
}

// export finds the export of a handle and enters it.
func (q *request) export(h *nfs3.FH) (*export, error) {
	e, err := q.exportOf(h)
	if err != nil {
		return nil, err
	}
	return e, q.enter(e, byFlavor)
}

// exportOf finds the export of a handle. An unknown file system may have been exported before a
// restart, so its handle is stale.
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

// fs enters the export of a handle, for a procedure that changes nothing.
func (q *request) fs(h *nfs3.FH) (vfs.FS, error) {
	e, err := q.export(h)
	if err != nil {
		return nil, err
	}
	return e.FS, nil
}

// rootFS is fs for GETATTR and FSINFO. A client uses them to find the root of an export, with
// AUTH_SYS or AUTH_NONE, even where the rules demand another flavour (RFC 2623 section 2.3.2). Like
// Linux, this server does not extend that to FSSTAT and PATHCONF.
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

// change enters the export of a handle, for a procedure that changes h. In a read-only export it
// fills in wcc and fails.
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

// unchanged fills in wcc for a call that fails with err before it changes anything. If the handle
// is invalid, it returns that error instead.
func unchanged(ctx context.Context, fs vfs.FS, h *nfs3.FH, wcc *nfs3.WccData, err error) error {
	attr, bad := fs.GetAttr(ctx, *h)
	if bad != nil {
		return bad
	}
	wcc.After = nfs3.PostOpAttrOf(attr)
	return err
}
