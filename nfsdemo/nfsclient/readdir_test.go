package nfsclient_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// withoutReadDirPlus returns a server that answers READDIRPLUS with NFS3ERR_NOTSUPP from the call
// after the first good ones.
func withoutReadDirPlus(t *testing.T, good int) *oncrpc.Server {
	mem := must(memfs.New(memfs.Config{}))(t)
	s := must(nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: mem, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}}))(t)
	progs := s.Programs()
	p := &progs[0].Procedures[nfs3.ProcReadDirPlus]
	original, calls := p.Handler, 0
	p.Handler = func(ctx context.Context, c *oncrpc.Call) error {
		if calls++; calls <= good {
			return original(ctx, c)
		}
		var args nfs3.ReadDirPlusArgs
		args.UnmarshalXDR(c.Args)
		res := nfs3.ReadDirPlusRes{Result: nfs3.Result{Status: nfs3.ErrNotSupp}}
		res.MarshalXDR(c.Results)
		return nil
	}
	return serving(t, progs...)
}

// TestReadDirFallback: if a server has no READDIRPLUS, the client uses READDIR.
func TestReadDirFallback(t *testing.T) {
	for _, mode := range []pipe.Mode{pipe.Inline, pipe.Chunked} {
		c, root := mounted(t, pipe.New(withoutReadDirPlus(t, 0), mode))
		ctx := t.Context()
		const n = 2000 // several replies
		want := make([]string, n)
		for i := range want {
			want[i] = fmt.Sprintf("directory%04d", i)
			must(c.Mkdir(ctx, root, want[i], nfs3.Sattr{}))(t)
		}
		var got []string
		for e, err := range c.ReadDir(ctx, root) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Attr.Present || e.File.Present || e.FileID == 0 {
				t.Fatalf("%+v", e)
			}
			got = append(got, e.Name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: (-want +got)\n%s", mode, diff)
		}
	}
}

// TestReadDirFallbackLate: cookies of one procedure are not used with the other.
func TestReadDirFallbackLate(t *testing.T) {
	c, root := mounted(t, pipe.New(withoutReadDirPlus(t, 1), pipe.Inline))
	for i := range 2000 {
		must(c.Create(t.Context(), root, fmt.Sprint("file", i), nfs3.CreateHow{}))(t)
	}
	var last error
	for _, last = range c.ReadDir(t.Context(), root) {
	}
	var e *nfsclient.Error
	if !errors.As(last, &e) || e.Op != "READDIRPLUS" || e.Err != error(nfs3.ErrNotSupp) {
		t.Errorf("got %v, want NFS3ERR_NOTSUPP of READDIRPLUS", last)
	}
}

// TestReadDirNeither: if both fail, the error is that of READDIR.
func TestReadDirNeither(t *testing.T) {
	c := hostile(t, &nfs3.ReadDirPlusRes{Result: nfs3.Result{Status: nfs3.ErrNotSupp}})
	n := 0
	for _, err := range c.ReadDir(t.Context(), nfs3.FH{}) {
		var e *nfsclient.Error
		var accept *oncrpc.AcceptError
		if !errors.As(err, &e) || e.Op != "READDIR" || !errors.As(err, &accept) || accept.Stat != oncrpc.ProcUnavail {
			t.Error(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d errors", n)
	}
}

// TestReadDirLoop: a listing whose cookies lead back to an earlier place ends; a long listing does
// not.
func TestReadDirLoop(t *testing.T) {
	const length = 100
	for back := range uint64(length + 1) { // the last cookie leads there, or to the end
		procs := make([]oncrpc.Procedure, nfs3.Procs)
		procs[nfs3.ProcReadDirPlus].Handler = func(_ context.Context, c *oncrpc.Call) error {
			var args nfs3.ReadDirPlusArgs
			args.UnmarshalXDR(c.Args)
			next := args.Cookie + 1
			if next == length {
				next = back
			}
			res := nfs3.ReadDirPlusRes{Entries: []nfs3.Entry{{Name: fmt.Sprint(args.Cookie), Cookie: next}}, EOF: next == length}
			res.MarshalXDR(c.Results)
			return nil
		}
		prog := oncrpc.Program{Name: "hostile", Number: nfs3.Program, Version: nfs3.Version, Procedures: procs}
		c := nfsclient.New(pipe.New(serving(t, prog), pipe.Inline), oncrpc.AuthNone())
		var last error
		n := 0
		for _, last = range c.ReadDir(t.Context(), nfs3.FH{}) {
			if n++; n > 4*length {
				t.Fatalf("back to %d: no end", back)
			}
		}
		var e *nfsclient.Error
		if errors.As(last, &e) != (back < length) || n < length {
			t.Errorf("back to %d: %d entries, %v", back, n, last)
		}
	}
}
