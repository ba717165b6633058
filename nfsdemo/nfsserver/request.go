package nfsserver

import (
	"context"
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// request is what a procedure knows of its call besides the arguments, and memory that is
// used again.
type request struct {
	server *Server
	conn   oncrpc.Transport
	cred   vfs.Cred // as the caller says until enter has found the export, then as that sees him
	said   bool     // the caller says who he is

	entered  *export // that the call is for, when the peer may use it
	rule     *Rule   // by which he may
	squashed bool    // the caller is another there than he says

	read    vfs.ReadResult
	entries []nfs3.Entry
}

// begin takes what counts of a call.
func (q *request) begin(s *Server, c *oncrpc.Call) {
	q.server, q.conn = s, c.Conn
	sys, ok := c.Sys()
	if q.said = ok; ok {
		q.cred = vfs.Cred{UID: sys.UID, GID: sys.GID, GIDs: append(q.cred.GIDs[:0], sys.GIDs...)}
	}
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

// enter checks that the peer may use an export, and squashes the caller as that says. The call
// counts as one for the export until leave.
func (q *request) enter(e *export) error {
	if q.entered == e {
		return nil
	}
	r, err := q.server.admit(e, q.conn)
	if err != nil {
		return err
	}
	if q.entered != nil {
		q.leave() // for another export, with which the call will not be executed
	}
	if !e.begin() {
		return nfs3.ErrStale
	}
	uid := q.cred.UID
	if groups := q.server.groups; groups != nil && q.said && r.Squash != SquashAll {
		q.cred.GIDs = append(q.cred.GIDs[:0], groups(uid)...)
	}
	r.squash(&q.cred, q.said)
	q.entered, q.rule, q.squashed = e, r, !q.said || q.cred.UID != uid
	return nil
}

// leave ends what enter has begun.
func (q *request) leave() {
	if e := q.entered; e != nil {
		q.entered = nil
		e.end()
	}
}

// export enters the export of a handle. A file system that no export has any more was
// exported before a restart.
func (q *request) export(h *nfs3.FH) (*export, error) {
	b := h.Bytes()
	if len(b) < 8 {
		return nil, nfs3.ErrBadHandle
	}
	e := q.server.table.Load().byID[binary.BigEndian.Uint64(b)]
	if e == nil {
		return nil, nfs3.ErrStale
	}
	return e, q.enter(e)
}

// fs is export for a procedure that changes nothing.
func (q *request) fs(h *nfs3.FH) (vfs.FS, error) {
	e, err := q.export(h)
	if err != nil {
		return nil, err
	}
	return e.FS, nil
}

// change is export for a procedure that changes the file or directory h, and returns what became of
// it in wcc: where that is not allowed it returns what is.
func (q *request) change(ctx context.Context, h *nfs3.FH, wcc *nfs3.WccData) (vfs.FS, error) {
	e, err := q.export(h)
	if err != nil {
		return nil, err
	}
	if q.rule.ReadOnly {
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
