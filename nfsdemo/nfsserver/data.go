package nfsserver

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

func read(ctx context.Context, q *request, a *nfs3.ReadArgs, r *nfs3.ReadRes) error {
	fs, err := q.fs(&a.File)
	if err != nil {
		return err
	}
	// A count above the limit is no error: the client gets less (RFC 1813 section 3.3.6).
	n := within(a.Offset, min(a.Count, q.server.maxRead))
	err = fs.Read(ctx, &q.cred, a.File, a.Offset, int(n), &q.read)
	r.Attr, r.EOF = q.read.Attr, q.read.EOF
	if err != nil {
		if q.read.Release != nil {
			q.read.Release.Release()
		}
		return err
	}
	r.Data, r.Release = q.read.Data, q.read.Release
	for _, p := range r.Data {
		r.Count += uint32(len(p))
	}
	q.entered.counters.bytesRead.Add(uint64(r.Count))
	return nil
}

func write(ctx context.Context, q *request, a *nfs3.WriteArgs, r *nfs3.WriteRes) error {
	fs, err := q.change(ctx, &a.File, &r.Wcc)
	if err != nil {
		return err
	}
	// A count above the limit is no error: less is written (RFC 1813 section 3.3.19, wtmax).
	n := min(a.Count, q.server.maxWrite)
	if a.Offset > math.MaxInt64 || within(a.Offset, n) < n {
		return unchanged(ctx, fs, &a.File, &r.Wcc, nfs3.ErrFBig)
	}
	// Take the verifier first: the data may be lost while it is being written.
	r.Verf = q.server.verifier(fs)
	w, err := fs.Write(ctx, &q.cred, a.File, a.Offset, a.Bulk.First(int(n)), a.Stable)
	r.Wcc, r.Count, r.Committed = w.Wcc, w.Count, w.Committed
	q.entered.counters.bytesWritten.Add(uint64(r.Count))
	return err
}

// commit also works on read-only exports: it changes nothing that a client can see.
func commit(ctx context.Context, q *request, a *nfs3.CommitArgs, r *nfs3.CommitRes) error {
	fs, err := q.fs(&a.File)
	if err != nil {
		return err
	}
	r.Wcc, err = fs.Commit(ctx, &q.cred, a.File, a.Offset, a.Count)
	r.Verf = q.server.verifier(fs)
	return err
}

// verifier returns the verifier of WRITE and COMMIT. It changes when the server restarts, and with
// the epoch of the file system.
func (s *Server) verifier(fs vfs.FS) nfs3.Verifier {
	v := s.verf
	binary.BigEndian.PutUint64(v[:], binary.BigEndian.Uint64(v[:])^fs.Info().Epoch)
	return v
}

// within returns how many of the n bytes at off have offsets that fit an int64.
func within(off uint64, n uint32) uint32 {
	if off > math.MaxInt64 {
		return 0
	}
	return uint32(min(uint64(n), math.MaxInt64-off))
}
