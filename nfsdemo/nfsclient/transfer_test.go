package nfsclient_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

func TestTransfer(t *testing.T) {
	overAll(t, func(t *testing.T, c *nfsclient.Client, root nfs3.FH) {
		ctx := t.Context()
		file := must(c.Create(ctx, root, "file", nfs3.CreateHow{}))(t)
		for _, tr := range []nfsclient.Transfer{{}, {Size: 1000, Parallel: 3}, {Size: 4096, Parallel: 1}, {Size: 64 << 20}} {
			for _, n := range []int{0, 1, 999, 1000, 1001, 3000, 50001, 3<<20 + 7} {
				if tr.Size == 1000 && n > 100000 {
					continue
				}
				want := make([]byte, n)
				for i := range want {
					want[i] = byte(rand.Uint32())
				}
				if _, err := c.SetAttr(ctx, file.File, nfs3.Sattr{Size: nfs3.Set64{Set: true}}, nil); err != nil {
					t.Fatal(err)
				}
				sum := 0
				tr.Progress = func(n int) { sum += n }
				up, err := c.Upload(ctx, file.File, iotest.HalfReader(bytes.NewReader(want)), tr)
				if err != nil || up != int64(n) || sum != n {
					t.Fatalf("%+v: upload: %d bytes of %d, progress %d: %v", tr, up, n, sum, err)
				}
				var got bytes.Buffer
				sum = 0
				down, err := c.Download(ctx, file.File, &got, tr)
				if err != nil || down != int64(n) || sum != n {
					t.Fatalf("%+v: download: %d bytes of %d, progress %d: %v", tr, down, n, sum, err)
				}
				if !bytes.Equal(got.Bytes(), want) {
					t.Fatalf("%+v: %d bytes: downloaded something else", tr, n)
				}
			}
		}
	})
}

// odd is an NFS server that reads and writes less than it is asked for.
type odd struct {
	data     []byte
	verf     atomic.Uint32 // first byte of the verifier
	stable   nfs3.StableHow
	commits  int
	hideEOF  bool   // EOF is told only behind the end
	restarts uint32 // after each of so many WRITEs the verifier changes
	empty    bool   // nothing is read or written
	under    chan struct{}
}

func (o *odd) program() oncrpc.Program {
	procs := make([]oncrpc.Procedure, nfs3.Procs)
	procs[nfs3.ProcFSInfo].Handler = func(_ context.Context, c *oncrpc.Call) error {
		var args nfs3.FSInfoArgs
		args.UnmarshalXDR(c.Args)
		(&nfs3.FSInfoRes{FSInfo: nfs3.FSInfo{RtMax: 100, WtMax: 100}}).MarshalXDR(c.Results)
		return nil
	}
	procs[nfs3.ProcGetAttr].Handler = func(_ context.Context, c *oncrpc.Call) error {
		var args nfs3.GetAttrArgs
		args.UnmarshalXDR(c.Args)
		// The size is what it was some time ago.
		(&nfs3.GetAttrRes{Attr: nfs3.Fattr{Type: nfs3.TypeReg, Size: uint64(len(o.data) / 2)}}).MarshalXDR(c.Results)
		return nil
	}
	procs[nfs3.ProcRead].Handler = func(ctx context.Context, c *oncrpc.Call) error {
		var args nfs3.ReadArgs
		args.UnmarshalXDR(c.Args)
		if o.under != nil {
			o.under <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}
		rest := o.data[min(args.Offset, uint64(len(o.data))):]
		p := rest[:min(len(rest), max(1, int(args.Count)/3))]
		if o.empty {
			p = nil
		}
		res := nfs3.ReadRes{Count: uint32(len(p)), Data: [][]byte{p}}
		res.EOF = !o.empty && len(p) == len(rest) && (!o.hideEOF || len(p) == 0)
		res.MarshalXDR(c.Results)
		return nil
	}
	procs[nfs3.ProcWrite].Handler = func(ctx context.Context, c *oncrpc.Call) error {
		var args nfs3.WriteArgs
		args.UnmarshalXDR(c.Args)
		p, err := args.Bulk.Bytes(ctx)
		if err != nil {
			return err
		}
		p = p[:max(1, len(p)/3)]
		if o.empty {
			p = nil
		}
		o.data = append(o.data, make([]byte, max(0, int(args.Offset)+len(p)-len(o.data)))...)
		copy(o.data[args.Offset:], p)
		res := nfs3.WriteRes{Count: uint32(len(p)), Committed: o.stable, Verf: nfs3.Verifier{byte(o.verf.Load())}}
		if o.verf.Load() < o.restarts {
			o.verf.Add(1)
		}
		res.MarshalXDR(c.Results)
		return nil
	}
	procs[nfs3.ProcCommit].Handler = func(_ context.Context, c *oncrpc.Call) error {
		var args nfs3.CommitArgs
		args.UnmarshalXDR(c.Args)
		o.commits++
		(&nfs3.CommitRes{Verf: nfs3.Verifier{byte(o.verf.Load())}}).MarshalXDR(c.Results)
		return nil
	}
	return oncrpc.Program{Name: "odd", Number: nfs3.Program, Version: nfs3.Version, Procedures: procs}
}

// client returns a client whose calls the server executes one at a time.
func (o *odd) client(t *testing.T) *nfsclient.Client {
	rpc := oncrpc.NewServer(oncrpc.ServerConfig{MaxConcurrent: 1})
	rpc.Handle(o.program())
	conn := pipe.New(rpc, pipe.Chunked)
	t.Cleanup(func() {
		conn.Close()
		rpc.Shutdown(context.Background())
	})
	return nfsclient.New(conn, oncrpc.AuthNone())
}

func TestShort(t *testing.T) {
	want := make([]byte, 1234)
	for i := range want {
		want[i] = byte(i)
	}
	for _, o := range []*odd{{}, {hideEOF: true}, {stable: nfs3.FileSync}} {
		c := o.client(t)
		if n, err := c.Upload(t.Context(), nfs3.FH{}, bytes.NewReader(want), nfsclient.Transfer{}); err != nil || n != 1234 {
			t.Fatal(n, err)
		}
		if !bytes.Equal(o.data, want) {
			t.Error("uploaded something else")
		}
		if (o.commits == 0) != (o.stable == nfs3.FileSync) {
			t.Errorf("%d COMMITs of stable %v", o.commits, o.stable)
		}
		var got bytes.Buffer
		if n, err := c.Download(t.Context(), nfs3.FH{}, &got, nfsclient.Transfer{}); err != nil || n != 1234 {
			t.Fatal(n, err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Error("downloaded something else")
		}
	}
}

func TestNoProgress(t *testing.T) {
	o := &odd{empty: true}
	c := o.client(t)
	if _, err := c.Upload(t.Context(), nfs3.FH{}, bytes.NewReader([]byte("data")), nfsclient.Transfer{}); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
	o.data = []byte("data")
	if _, err := c.Download(t.Context(), nfs3.FH{}, io.Discard, nfsclient.Transfer{}); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

func TestRestart(t *testing.T) {
	// When the server has restarted once, the COMMIT has the verifier of the last WRITE.
	for _, restarts := range []uint32{1, 1000} {
		for _, parallel := range []int{1, 4} {
			o := &odd{restarts: restarts}
			_, err := o.client(t).Upload(t.Context(), nfs3.FH{}, bytes.NewReader(make([]byte, 1000)), nfsclient.Transfer{Parallel: parallel})
			if !errors.Is(err, nfsclient.ErrVerifier) {
				t.Errorf("%d restarts between WRITEs: %v", restarts, err)
			}
		}
	}
	o := &odd{restarts: 1}
	_, err := o.client(t).Upload(t.Context(), nfs3.FH{}, bytes.NewReader([]byte{1}), nfsclient.Transfer{})
	if !errors.Is(err, nfsclient.ErrVerifier) {
		t.Errorf("before COMMIT: %v", err)
	}
}

// TestRestartDurable: what was durable when the server restarted is not lost.
func TestRestartDurable(t *testing.T) {
	o := &odd{restarts: 1000, stable: nfs3.FileSync}
	n, err := o.client(t).Upload(t.Context(), nfs3.FH{}, bytes.NewReader(make([]byte, 1000)), nfsclient.Transfer{})
	if err != nil || n != 1000 || o.commits != 0 {
		t.Errorf("%d bytes, %d COMMITs: %v", n, o.commits, err)
	}
}

func TestTransferSettings(t *testing.T) {
	c, root := mounted(t, pipe.New(server(t), pipe.Chunked))
	ctx := t.Context()
	file := must(c.Create(ctx, root, "file", nfs3.CreateHow{}))(t)
	for _, tt := range []struct {
		tr nfsclient.Transfer
		ok bool
	}{
		{nfsclient.Transfer{Size: -1}, false},
		{nfsclient.Transfer{Parallel: -1}, false},
		{nfsclient.Transfer{Parallel: nfsclient.MaxParallel + 1}, false},
		{nfsclient.Transfer{Size: math.MaxInt, Parallel: nfsclient.MaxParallel}, true},
		{nfsclient.Transfer{Size: math.MaxInt &^ math.MaxUint32}, true}, // the low 32 bits are 0
	} {
		if n, err := c.Upload(ctx, file.File, bytes.NewReader(make([]byte, 100)), tt.tr); (err == nil) != tt.ok || tt.ok && n != 100 {
			t.Errorf("%+v: upload: %d, %v", tt.tr, n, err)
		}
		if n, err := c.Download(ctx, file.File, io.Discard, tt.tr); (err == nil) != tt.ok || tt.ok && n != 100 {
			t.Errorf("%+v: download: %d, %v", tt.tr, n, err)
		}
	}
}

// drip is a Reader without end that gives a byte at a time and calls stop with the
// third.
type drip struct {
	reads int
	stop  func()
}

func (d *drip) Read(p []byte) (int, error) {
	if d.reads++; d.reads == 3 {
		d.stop()
	}
	return copy(p, "x"), nil
}

// TestUploadStops: behind the end of its context an upload does not read on.
func TestUploadStops(t *testing.T) {
	c, root := mounted(t, pipe.New(server(t), pipe.Chunked))
	file := must(c.Create(t.Context(), root, "file", nfs3.CreateHow{}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	d := &drip{stop: cancel}
	if _, err := c.Upload(ctx, file.File, d, nfsclient.Transfer{}); !errors.Is(err, context.Canceled) || d.reads != 3 {
		t.Errorf("%d reads: %v", d.reads, err)
	}
}

// panics is a Writer that panics.
type panics struct{}

func (panics) Write([]byte) (int, error) { panic("broken") }

// TestDownloadPanics: a panic in what the caller gave is the caller's.
func TestDownloadPanics(t *testing.T) {
	c := (&odd{data: make([]byte, 1000)}).client(t)
	for name, download := range map[string]func(){
		"writer": func() { c.Download(t.Context(), nfs3.FH{}, panics{}, nfsclient.Transfer{}) },
		"progress": func() {
			c.Download(t.Context(), nfs3.FH{}, io.Discard, nfsclient.Transfer{Progress: func(int) { panic("broken") }})
		},
	} {
		func() {
			defer func() {
				if p := recover(); p != "broken" {
					t.Errorf("%s: recovered %v", name, p)
				}
			}()
			download()
		}()
	}
}

func TestTransferErrors(t *testing.T) {
	c, root := mounted(t, pipe.New(server(t), pipe.Chunked))
	ctx := t.Context()
	file := must(c.Create(ctx, root, "file", nfs3.CreateHow{}))(t)
	broken := errors.New("broken")
	tr := nfsclient.Transfer{Size: 1000, Parallel: 4}

	r := io.MultiReader(bytes.NewReader(make([]byte, 9999)), iotest.ErrReader(broken))
	if n, err := c.Upload(ctx, file.File, r, tr); !errors.Is(err, broken) || n != 9999 {
		t.Errorf("reader: %d, %v", n, err)
	}
	if a := must(c.GetAttr(ctx, file.File))(t); a.Size != 9999 {
		t.Errorf("what was read before the error was not written: %d bytes", a.Size)
	}
	if n, err := c.Download(ctx, file.File, &limited{5500, broken}, tr); !errors.Is(err, broken) || n != 5500 {
		t.Errorf("writer: %d, %v", n, err)
	}
	if _, err := c.Upload(ctx, root, bytes.NewReader(make([]byte, 100000)), tr); !errors.Is(err, nfs3.ErrIsDir) {
		t.Errorf("upload to a directory: %v", err)
	}
	if _, err := c.Download(ctx, root, io.Discard, tr); !errors.Is(err, nfs3.ErrIsDir) {
		t.Errorf("download of a directory: %v", err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Upload(stopped, file.File, bytes.NewReader(nil), tr); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// limited is a Writer that takes n bytes.
type limited struct {
	n   int
	err error
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.n)
	l.n -= n
	if n < len(p) {
		return n, l.err
	}
	return n, nil
}

// TestCancel: a download whose context ends leaves nothing behind.
func TestCancel(t *testing.T) {
	o := &odd{data: make([]byte, 10000), under: make(chan struct{}, 100)}
	c := o.client(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := c.Download(ctx, nfs3.FH{}, io.Discard, nfsclient.Transfer{})
		done <- err
	}()
	<-o.under
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
