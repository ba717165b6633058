package nfsfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// TestFileModel: a File behaves like a slice of bytes with an offset.
func TestFileModel(t *testing.T) {
	conns := []oncrpc.Transport{pipe.New(server(t, nil), pipe.Inline), pipe.New(server(t, nil), pipe.Chunked)}
	rapid.Check(t, func(t *rapid.T) {
		top := mountRapid(t, conns[rapid.IntRange(0, 1).Draw(t, "mode")], nfsfs.Config{
			TransferSize:   rapid.IntRange(1, 40).Draw(t, "size"),
			Parallel:       rapid.IntRange(1, 5).Draw(t, "parallel"),
			MaxUncommitted: rapid.IntRange(1, 300).Draw(t, "uncommitted"),
		})
		flag := os.O_RDWR | os.O_CREATE | os.O_TRUNC
		flag |= rapid.SampledFrom([]int{0, os.O_SYNC}).Draw(t, "sync") | rapid.SampledFrom([]int{0, os.O_APPEND}).Draw(t, "append")
		f, err := top.OpenFile(t.Context(), "model", flag, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var model []byte
		pos := 0
		data := func() []byte { return rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "data") }
		off := func() int { return rapid.IntRange(0, 300).Draw(t, "off") }
		put := func(at int, p []byte) {
			if len(p) > 0 {
				model = append(model, make([]byte, max(0, at+len(p)-len(model)))...)
				copy(model[at:], p)
			}
		}
		rest := func(at int) []byte { return model[min(at, len(model)):] }
		end := func() {
			if flag&os.O_APPEND != 0 {
				pos = len(model)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"ReadAt": func(t *rapid.T) {
				at, p := off(), make([]byte, rapid.IntRange(0, 250).Draw(t, "n"))
				n, err := f.ReadAt(p, int64(at))
				want := rest(at)[:min(len(p), len(rest(at)))]
				if !bytes.Equal(p[:n], want) || (n < len(p)) != (err == io.EOF) || err != nil && err != io.EOF {
					t.Fatalf("%d bytes of %d: %d, %v", len(p), len(model), n, err)
				}
				if slices.ContainsFunc(p[n:], func(b byte) bool { return b != 0 }) {
					t.Fatal("wrote behind what was read")
				}
			},
			"Read": func(t *rapid.T) {
				p := make([]byte, rapid.IntRange(0, 250).Draw(t, "n"))
				n, err := f.Read(p)
				want := rest(pos)[:min(len(p), len(rest(pos)))]
				if !bytes.Equal(p[:n], want) || (err == io.EOF) != (n == 0 && len(p) > 0) || err != nil && err != io.EOF {
					t.Fatalf("%d bytes of %d: %d, %v", len(p), len(model), n, err)
				}
				pos += n
			},
			"WriteTo": func(t *rapid.T) {
				var b bytes.Buffer
				n, err := f.WriteTo(&b)
				if err != nil || n != int64(b.Len()) || !bytes.Equal(b.Bytes(), rest(pos)) {
					t.Fatalf("%d bytes from %d of %d: %v", n, pos, len(model), err)
				}
				pos += int(n)
			},
			"Write": func(t *rapid.T) {
				p := data()
				end()
				if n, err := f.Write(p); n != len(p) || err != nil {
					t.Fatal(n, err)
				}
				put(pos, p)
				pos += len(p)
			},
			"WriteAt": func(t *rapid.T) {
				at, p := off(), data()
				n, err := f.WriteAt(p, int64(at))
				if flag&os.O_APPEND != 0 {
					if !errors.Is(err, fs.ErrInvalid) {
						t.Fatal(n, err)
					}
					return
				}
				if n != len(p) || err != nil {
					t.Fatal(n, err)
				}
				put(at, p)
			},
			"ReadFrom": func(t *rapid.T) {
				p := data()
				end()
				if n, err := f.ReadFrom(iotest.HalfReader(bytes.NewReader(p))); n != int64(len(p)) || err != nil {
					t.Fatal(n, err)
				}
				put(pos, p)
				pos += len(p)
			},
			"Truncate": func(t *rapid.T) {
				n := off()
				if err := f.Truncate(int64(n)); err != nil {
					t.Fatal(err)
				}
				model = append(model[:min(n, len(model))], make([]byte, max(0, n-len(model)))...)
			},
			"Seek": func(t *rapid.T) {
				whence := rapid.IntRange(0, 2).Draw(t, "whence")
				by := rapid.IntRange(-100, 300).Draw(t, "by")
				to := by + []int{0, pos, len(model)}[whence]
				got, err := f.Seek(int64(by), whence)
				if (err != nil) != (to < 0) || err == nil && got != int64(to) {
					t.Fatalf("to %d: %d, %v", to, got, err)
				}
				if err == nil {
					pos = to
				}
			},
			"Sync": func(t *rapid.T) {
				if err := f.Sync(); err != nil {
					t.Fatal(err)
				}
			},
			"Stat": func(t *rapid.T) {
				if i, err := f.Stat(); err != nil || i.Size() != int64(len(model)) || i.Name() != "model" {
					t.Fatal(i, err)
				}
			},
		})
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := fs.ReadFile(top.IOFS(t.Context()), "model"); err != nil || !bytes.Equal(got, model) {
			t.Fatalf("in the end %x, want %x: %v", got, model, err)
		}
	})
}

// TestLarge: whole files over all transports, with data of odd sizes.
func TestLarge(t *testing.T) {
	for _, cfg := range []nfsfs.Config{{}, {TransferSize: 10007, Parallel: 3, MaxUncommitted: 100000}, {TransferSize: 64 << 20, Parallel: nfsfs.MaxParallel}} {
		overAll(t, cfg, func(t *testing.T, f *nfsfs.FS) {
			for _, n := range []int{0, 1, 10007, 1<<20 + 7} {
				want := make([]byte, n)
				for i := range want {
					want[i] = byte(i*i>>3 + i)
				}
				o := must(f.Create(t.Context(), "file"))(t)
				up, err := o.ReadFrom(iotest.HalfReader(bytes.NewReader(want)))
				ok(t, err, o.Sync())
				must(o.Seek(0, io.SeekStart))(t)
				var got bytes.Buffer
				down, err := o.WriteTo(&got)
				ok(t, err)
				if up != int64(n) || down != int64(n) || !bytes.Equal(got.Bytes(), want) {
					t.Errorf("%d bytes: %d up, %d down, the same: %v", n, up, down, bytes.Equal(got.Bytes(), want))
				}
				half := n / 2
				must(o.WriteAt(want[half:], 0))(t)
				p := make([]byte, n-half+1)
				if m, err := o.ReadAt(p[:n-half], 0); m != n-half || err != nil {
					t.Errorf("read %d of %d bytes: %v", m, n-half, err)
				}
				if !bytes.Equal(p[:n-half], want[half:]) {
					t.Errorf("%d bytes: read something else", n)
				}
				if m, err := o.ReadAt(p, int64(half)); m != n-half || err != io.EOF {
					t.Errorf("read %d bytes, want %d: %v", m, n-half, err)
				}
				ok(t, o.Close())
			}
		})
	}
}

func TestClosed(t *testing.T) {
	f := local(t, nfsfs.Config{})
	o := must(f.Create(t.Context(), "file"))(t)
	ok(t, o.Close())
	calls := map[string]error{"close": o.Close(), "sync": o.Sync(), "truncate": o.Truncate(0), "setattr": o.SetAttr(nfs3.Sattr{})}
	_, calls["stat"] = o.Stat()
	_, calls["read"] = o.Read(nil)
	_, calls["readat"] = o.ReadAt(nil, 0)
	_, calls["write"] = o.Write(nil)
	_, calls["writeat"] = o.WriteAt(nil, 0)
	_, calls["seek"] = o.Seek(0, 0)
	_, calls["readdir"] = o.ReadDir(0)
	_, calls["writeto"] = o.WriteTo(io.Discard)
	_, calls["readfrom"] = o.ReadFrom(bytes.NewReader(nil))
	for name, err := range calls {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDirectory: what can be done with an open directory.
func TestDirectory(t *testing.T) {
	f := local(t, nfsfs.Config{})
	for _, name := range []string{"c", "a", "b"} {
		write(t, f, name, "")
	}
	d := must(f.Open(t.Context(), "/"))(t)
	var names []string
	for {
		list, err := d.ReadDir(2)
		for _, e := range list {
			names = append(names, e.Name())
		}
		if err == io.EOF {
			break
		}
		ok(t, err)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("listed %q", names)
	}
	if list := must(d.ReadDir(-1))(t); len(list) != 0 {
		t.Errorf("behind the end: %v", list)
	}
	must(d.Seek(0, io.SeekStart))(t)
	if list := must(d.ReadDir(0))(t); len(list) != 3 {
		t.Errorf("again: %v", list)
	}
	must(d.Seek(0, io.SeekStart))(t)
	must(d.ReadDir(1))(t) // end the listing early
	if i := must(d.Stat())(t); !i.IsDir() || i.Name() != "." {
		t.Errorf("stat: %v", i)
	}
	if _, err := d.Seek(1, io.SeekStart); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("seek: %v", err)
	}
	if _, err := d.Write([]byte("x")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("write: %v", err)
	}
	_, err := d.WriteTo(io.Discard)
	_, err2 := d.Read(make([]byte, 1))
	if !errors.Is(err, nfs3.ErrIsDir) || !errors.Is(err2, nfs3.ErrIsDir) {
		t.Errorf("read: %v, %v", err, err2)
	}
	ok(t, d.Close())
	o := must(f.Open(t.Context(), "a"))(t)
	defer o.Close()
	if _, err := o.ReadDir(0); !errors.Is(err, nfs3.ErrNotDir) {
		t.Errorf("of a file: %v", err)
	}
}
