package nfsclient_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a server of an in-memory file system.
func server(tb testing.TB) *oncrpc.Server {
	tb.Helper()
	mem, err := memfs.New(memfs.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	s, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: mem, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}})
	if err != nil {
		tb.Fatal(err)
	}
	return serving(tb, s.Programs()...)
}

func serving(tb testing.TB, progs ...oncrpc.Program) *oncrpc.Server {
	rpc := oncrpc.NewServer(oncrpc.ServerConfig{Logger: slog.New(slog.DiscardHandler)})
	rpc.Handle(progs...)
	tb.Cleanup(func() { rpc.Shutdown(context.Background()) })
	return rpc
}

// transports connect to a server: in process with data in the messages or by chunk, and over TCP.
var transports = map[string]func(testing.TB, *oncrpc.Server) oncrpc.Transport{
	"inline":  func(_ testing.TB, s *oncrpc.Server) oncrpc.Transport { return pipe.New(s, pipe.Inline) },
	"chunked": func(_ testing.TB, s *oncrpc.Server) oncrpc.Transport { return pipe.New(s, pipe.Chunked) },
	"tcp": func(tb testing.TB, s *oncrpc.Server) oncrpc.Transport {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- recordmark.Serve(context.Background(), l, s, recordmark.Config{}) }()
		c, err := recordmark.Dial(tb.Context(), l.Addr().String(),
			recordmark.Config{EnforceMaxReply: true})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			c.Close()
			<-c.Done()
			s.Shutdown(context.Background())
			if err := <-served; !errors.Is(err, oncrpc.ErrServerClosed) {
				tb.Error(err)
			}
		})
		return c
	},
}

func overAll(t *testing.T, test func(t *testing.T, c *nfsclient.Client, root nfs3.FH)) {
	for name, connect := range transports {
		t.Run(name, func(t *testing.T) {
			c, root := mounted(t, connect(t, server(t)))
			test(t, c, root)
		})
	}
}

func mounted(tb testing.TB, conn oncrpc.Transport) (*nfsclient.Client, nfs3.FH) {
	tb.Helper()
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "test"})
	if err != nil {
		tb.Fatal(err)
	}
	c := nfsclient.New(conn, cred)
	root, err := c.Mount(tb.Context(), "/")
	if err != nil {
		tb.Fatal(err)
	}
	return c, root
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

func TestProcedures(t *testing.T) {
	overAll(t, func(t *testing.T, c *nfsclient.Client, root nfs3.FH) {
		ctx := t.Context()
		if err := c.Null(ctx); err != nil {
			t.Fatal(err)
		}
		mode := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o750}}
		dir := must(c.Mkdir(ctx, root, "dir", mode))(t)
		file := must(c.Create(ctx, dir.File, "file", nfs3.CreateHow{Mode: nfs3.Guarded, Set: mode}))(t)
		if file.Attr.Attr.Mode != 0o750 {
			t.Errorf("created: %+v", file.Attr)
		}
		if got := must(c.Lookup(ctx, dir.File, "file"))(t); got != file {
			t.Errorf("lookup: %v, want %v", got, file)
		}
		data := []byte("some data that is no multiple of four")
		w := must(c.Write(ctx, file.File, 3, data, nfs3.DataSync))(t)
		if w.N != len(data) || w.Committed < nfs3.DataSync || !w.Wcc.Before.Present {
			t.Errorf("write: %+v", w)
		}
		p := bytes.Repeat([]byte{'?'}, 100)
		r := must(c.Read(ctx, file.File, 1, p))(t)
		want := append([]byte{0, 0}, data...)
		if !bytes.Equal(p[:r.N], want) || !r.EOF || !bytes.Equal(p[r.N:], bytes.Repeat([]byte{'?'}, 100-r.N)) {
			t.Errorf("read: %+v, %q", r, p)
		}
		if r := must(c.Read(ctx, file.File, 0, nil))(t); r.N != 0 || r.EOF {
			t.Errorf("read of nothing: %+v", r)
		}
		if verf := must(c.Commit(ctx, file.File, 0, 0))(t); verf != w.Verf {
			t.Errorf("commit: %x, want %x", verf, w.Verf)
		}
		a := must(c.GetAttr(ctx, file.File))(t)
		if a.Size != uint64(3+len(data)) || nfs3.PostOpAttrOf(a) != r.Attr {
			t.Errorf("attributes: %+v, with READ %+v", a, r.Attr)
		}
		size := nfs3.Sattr{Size: nfs3.Set64{Set: true, To: 4}}
		if _, err := c.SetAttr(ctx, file.File, size, &nfs3.Time{Sec: 1}); !errors.Is(err, nfs3.ErrNotSync) {
			t.Errorf("guard: %v", err)
		}
		if wcc := must(c.SetAttr(ctx, file.File, size, &a.Ctime))(t); wcc.Before.Size != a.Size || wcc.After.Attr.Size != 4 {
			t.Errorf("set attributes: %+v", wcc)
		}
		if got := must(c.Access(ctx, file.File, nfs3.AccessRead|nfs3.AccessLookup))(t); got != nfs3.AccessRead {
			t.Errorf("access: %#x", got)
		}
		if s := must(c.FSStat(ctx, root))(t); s.TotalBytes != memfs.DefaultCapacity || s.FreeBytes >= s.TotalBytes {
			t.Errorf("%+v", s)
		}
		if i := must(c.FSInfo(ctx, root))(t); i.RtMax != 1<<20 || i.WtMax != 1<<20 {
			t.Errorf("%+v", i)
		}
		if p := must(c.PathConf(ctx, root))(t); p.NameMax != 255 || !p.CasePreserving {
			t.Errorf("%+v", p)
		}
	})
}

func TestErrors(t *testing.T) {
	overAll(t, func(t *testing.T, c *nfsclient.Client, root nfs3.FH) {
		ctx := t.Context()
		_, err := c.Lookup(ctx, root, "nothing")
		var nfs *nfsclient.Error
		if !errors.As(err, &nfs) || nfs.Op != "LOOKUP" || nfs.Name != "nothing" || !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, nfs3.ErrNoEnt) {
			t.Errorf("%v", err)
		}
		if want := "nfs: LOOKUP nothing: NFS3ERR_NOENT"; err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
		if _, err := c.Mount(ctx, "/none"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "MNT /none") {
			t.Errorf("%v", err)
		}
		if _, err := c.Read(ctx, root, 0, make([]byte, 10)); !errors.Is(err, nfs3.ErrIsDir) {
			t.Errorf("%v", err)
		}
		must(c.Mkdir(ctx, root, "dir", nfs3.Sattr{}))(t)
		if _, err := c.Mkdir(ctx, root, "dir", nfs3.Sattr{}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%v", err)
		}
		stopped, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := c.GetAttr(stopped, root); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

func TestReadDir(t *testing.T) {
	overAll(t, func(t *testing.T, c *nfsclient.Client, root nfs3.FH) {
		ctx := t.Context()
		const n = 3000 // several replies
		want := make([]string, n)
		for i := range want {
			want[i] = fmt.Sprintf("file%04d", i)
			must(c.Create(ctx, root, want[i], nfs3.CreateHow{}))(t)
		}
		var got []string
		for e, err := range c.ReadDir(ctx, root) {
			if err != nil {
				t.Fatal(err)
			}
			if !e.Attr.Present || !e.File.Present {
				t.Fatalf("%+v", e)
			}
			got = append(got, e.Name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for range c.ReadDir(ctx, root) {
			break
		}
		for _, err := range c.ReadDir(ctx, nfs3.FH{}) {
			if !errors.Is(err, nfs3.ErrBadHandle) {
				t.Error(err)
			}
		}
	})
}

// hostile returns a client of a server that answers every READDIRPLUS with res.
func hostile(t *testing.T, res *nfs3.ReadDirPlusRes) *nfsclient.Client {
	procs := make([]oncrpc.Procedure, nfs3.Procs)
	procs[nfs3.ProcReadDirPlus].Handler = func(_ context.Context, c *oncrpc.Call) error {
		var args nfs3.ReadDirPlusArgs
		args.UnmarshalXDR(c.Args)
		res.MarshalXDR(c.Results)
		return nil
	}
	prog := oncrpc.Program{Name: "hostile", Number: nfs3.Program, Version: nfs3.Version, Procedures: procs}
	return nfsclient.New(pipe.New(serving(t, prog), pipe.Inline), oncrpc.AuthNone())
}

// subdir returns an entry for a directory.
func subdir(name string, cookie uint64, h nfs3.FH) nfs3.Entry {
	return nfs3.Entry{Name: name, Cookie: cookie, Attr: nfs3.PostOpAttrOf(nfs3.Fattr{Type: nfs3.TypeDir}), File: nfs3.PostOpFH{Present: true, FH: h}}
}

// TestHostileNames: a name that leads out of the directory ends a listing.
func TestHostileNames(t *testing.T) {
	dir, other := nfs3.MakeFH([]byte("dir")), nfs3.MakeFH([]byte("other"))
	for _, name := range []string{"", "/abs", "../../etc/passwd", "a/", "a\x00b", strings.Repeat("n", 256)} {
		c := hostile(t, &nfs3.ReadDirPlusRes{EOF: true, Entries: []nfs3.Entry{subdir(name, 1, other)}})
		var bad *nfsclient.Error
		for e, err := range c.ReadDir(t.Context(), dir) {
			if !errors.As(err, &bad) || bad.Op != "READDIRPLUS" {
				t.Errorf("%.20q: listed %.20q, %v", name, e.Name, err)
			}
		}
	}
}

// TestHostileCookie: a listing that makes no progress ends.
func TestHostileCookie(t *testing.T) {
	c := hostile(t, &nfs3.ReadDirPlusRes{Entries: []nfs3.Entry{{Name: "a", Cookie: 1}, {Name: "b", Cookie: 2}}})
	listed := 0
	var last error
	for _, last = range c.ReadDir(t.Context(), nfs3.FH{}) {
		listed++
	}
	var bad *nfsclient.Error
	if !errors.As(last, &bad) || listed != 3 {
		t.Errorf("%d entries, then %v", listed, last)
	}
}
