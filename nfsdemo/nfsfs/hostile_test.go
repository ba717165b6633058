package nfsfs

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// hostile is an NFS server of one file. It may write and read less than requested, and restarts at
// given points.
type hostile struct {
	mu       sync.Mutex
	stable   []byte
	volatile []byte // what READ gives
	verf     byte
	calls    int // WRITEs and COMMITs
	// by number of the point: 2n is before call n, 2n+1 between its execution and its reply
	restart map[int]bool
	short   func(n int) int       // how many of n bytes are read or written; nil: all
	how     func() nfs3.StableHow // stability of a WRITE; nil: as requested
	lazy    bool                  // each WRITE is UNSTABLE, whatever was requested
	fail    func(p nfs3.Proc) nfs3.Status
	commits int
	size    uint64                                 // the size reported; 0: the right one
	hideEOF bool                                   // reported only after the end
	noAttrs bool                                   // there is never a post_op_attr
	before  func(context.Context, nfs3.Proc) error // called before each procedure is executed
	after   func(nfs3.Proc)                        // called after that, before the reply
}

func (s *hostile) reboot() {
	s.verf++
	s.volatile = slices.Clone(s.stable)
}

// point is a point at which the server may restart. mu is held.
func (s *hostile) point(n int) {
	if s.restart[n] {
		s.reboot()
	}
}

func put(to []byte, off uint64, p []byte) []byte {
	to = append(to, make([]byte, max(0, int(off)+len(p)-len(to)))...)
	copy(to[off:], p)
	return to
}

func resize(p []byte, n int) []byte {
	return append(p[:min(len(p), n)], make([]byte, max(0, n-len(p)))...)
}

func (s *hostile) attr() nfs3.PostOpAttr {
	if s.noAttrs {
		return nfs3.PostOpAttr{}
	}
	return nfs3.PostOpAttrOf(s.fattr())
}

func (s *hostile) fattr() nfs3.Fattr {
	return nfs3.Fattr{Type: nfs3.TypeReg, Mode: 0o644, Size: cmp.Or(s.size, uint64(len(s.volatile))), FileID: 2}
}

func (s *hostile) cut(n int) int {
	if s.short == nil || n == 0 {
		return n
	}
	return s.short(n)
}

type args interface{ UnmarshalXDR(*xdr.Decoder) }

type reply interface {
	MarshalXDR(*xdr.Encoder)
	StatusPtr() *nfs3.Status
}

// answer handles a procedure: do fills in the reply.
func answer[A, R any, PA interface {
	*A
	args
}, PR interface {
	*R
	reply
}](s *hostile, p nfs3.Proc, do func(context.Context, PA, PR) error) oncrpc.Procedure {
	return oncrpc.Procedure{Handler: func(ctx context.Context, c *oncrpc.Call) error {
		a, r := PA(new(A)), PR(new(R))
		a.UnmarshalXDR(c.Args)
		if s.before != nil {
			if err := s.before(ctx, p); err != nil {
				return err
			}
		}
		s.mu.Lock()
		if s.fail != nil {
			*r.StatusPtr() = s.fail(p)
		}
		s.mu.Unlock()
		if *r.StatusPtr() == nfs3.OK {
			if err := do(ctx, a, r); err != nil {
				return err
			}
		}
		if s.after != nil {
			s.after(p)
		}
		r.MarshalXDR(c.Results)
		return nil
	}}
}

func (s *hostile) program() oncrpc.Program {
	procs := make([]oncrpc.Procedure, nfs3.Procs)
	procs[nfs3.ProcFSInfo] = answer(s, nfs3.ProcFSInfo, func(_ context.Context, a *nfs3.FSInfoArgs, r *nfs3.FSInfoRes) error {
		r.FSInfo = nfs3.FSInfo{RtMax: 1 << 20, WtMax: 1 << 20}
		return nil
	})
	procs[nfs3.ProcLookup] = answer(s, nfs3.ProcLookup, func(_ context.Context, a *nfs3.LookupArgs, r *nfs3.LookupRes) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		r.File, r.Attr = nfs3.MakeFH([]byte("file")), s.attr()
		return nil
	})
	procs[nfs3.ProcGetAttr] = answer(s, nfs3.ProcGetAttr, func(_ context.Context, a *nfs3.GetAttrArgs, r *nfs3.GetAttrRes) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		r.Attr = s.fattr()
		return nil
	})
	procs[nfs3.ProcAccess] = answer(s, nfs3.ProcAccess, func(_ context.Context, a *nfs3.AccessArgs, r *nfs3.AccessRes) error {
		r.Granted = a.Want
		return nil
	})
	procs[nfs3.ProcSetAttr] = answer(s, nfs3.ProcSetAttr, func(_ context.Context, a *nfs3.SetAttrArgs, r *nfs3.SetAttrRes) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if a.Set.Size.Set {
			s.volatile = resize(s.volatile, int(a.Set.Size.To))
			s.stable = resize(s.stable, int(a.Set.Size.To))
		}
		return nil
	})
	procs[nfs3.ProcRead] = answer(s, nfs3.ProcRead, func(_ context.Context, a *nfs3.ReadArgs, r *nfs3.ReadRes) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		rest := s.volatile[min(a.Offset, uint64(len(s.volatile))):]
		p := slices.Clone(rest[:s.cut(min(len(rest), int(a.Count)))])
		r.Count, r.Data = uint32(len(p)), [][]byte{p}
		r.EOF = len(p) == len(rest) && (len(p) == 0 || !s.hideEOF)
		return nil
	})
	procs[nfs3.ProcWrite] = answer(s, nfs3.ProcWrite, func(ctx context.Context, a *nfs3.WriteArgs, r *nfs3.WriteRes) error {
		p, err := a.Bulk.Bytes(ctx)
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		n := s.calls
		s.calls++
		s.point(2 * n)
		p = p[:s.cut(len(p))]
		r.Committed = a.Stable
		if s.how != nil {
			r.Committed = max(r.Committed, s.how())
		}
		if s.lazy {
			r.Committed = nfs3.Unstable
		}
		s.volatile = put(s.volatile, a.Offset, p)
		if r.Committed != nfs3.Unstable {
			s.stable = put(s.stable, a.Offset, p)
		}
		r.Count, r.Verf = uint32(len(p)), nfs3.Verifier{s.verf}
		s.point(2*n + 1)
		return nil
	})
	procs[nfs3.ProcCommit] = answer(s, nfs3.ProcCommit, func(_ context.Context, a *nfs3.CommitArgs, r *nfs3.CommitRes) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		n := s.calls
		s.calls++
		s.commits++
		s.point(2 * n)
		s.stable = slices.Clone(s.volatile)
		r.Verf = nfs3.Verifier{s.verf}
		s.point(2*n + 1)
		return nil
	})
	return oncrpc.Program{Name: "hostile", Number: nfs3.Program, Version: nfs3.Version, Procedures: procs}
}

// fs returns the server's file system, and a function that ends it.
func (s *hostile) fs(cfg Config) (*FS, func()) {
	rpc := oncrpc.NewServer(oncrpc.ServerConfig{})
	rpc.Handle(s.program())
	conn := pipe.New(rpc, pipe.Chunked)
	over := Watch()
	return New(nfsclient.New(conn, oncrpc.AuthNone()), nfs3.MakeFH([]byte("root")), cfg), func() {
		defer over()
		conn.Close()
		rpc.Shutdown(context.Background())
	}
}

// told makes the server report each READ, WRITE and COMMIT, and then wait until it may continue.
func (s *hostile) told() (under chan nfs3.Proc, hold chan struct{}) {
	under, hold = make(chan nfs3.Proc, 100), make(chan struct{})
	s.before = func(ctx context.Context, p nfs3.Proc) error {
		if p != nfs3.ProcRead && p != nfs3.ProcWrite && p != nfs3.ProcCommit {
			return nil
		}
		under <- p
		select {
		case <-hold:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return under, hold
}

// open opens the server's file until the test ends.
func (s *hostile) open(t *testing.T, ctx context.Context, cfg Config, flag int) *File {
	t.Helper()
	fsys, end := s.fs(cfg)
	t.Cleanup(end)
	f, err := fsys.OpenFile(ctx, "file", flag, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
