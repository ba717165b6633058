package nfsfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func numbers(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*i>>3 + i)
	}
	return p
}

// TestShort: servers may transfer less than requested, and not report the end of the file.
func TestShort(t *testing.T) {
	for _, hide := range []bool{false, true} {
		s := &hostile{hideEOF: hide, noAttrs: true, short: func(n int) int { return (n + 2) / 3 }}
		f := s.open(t, t.Context(), Config{TransferSize: 100, Parallel: 3}, os.O_RDWR)
		want := numbers(1234)
		if n, err := f.ReadFrom(bytes.NewReader(want)); n != 1234 || err != nil {
			t.Error(n, err)
		}
		f.Seek(0, io.SeekStart)
		var got bytes.Buffer
		if n, err := f.WriteTo(&got); n != 1234 || err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Error(n, err)
		}
		for _, n := range []int{50, 100, 1000, 1234} {
			p := make([]byte, n)
			if m, err := f.ReadAt(p, 0); m != n || err != nil || !bytes.Equal(p, want[:n]) {
				t.Errorf("%d bytes: read %d, %v", n, m, err)
			}
			if m, err := f.ReadAt(p, int64(1235-n)); m != n-1 || err != io.EOF || !bytes.Equal(p[:n-1], want[1235-n:]) {
				t.Errorf("%d bytes beyond the end: read %d, %v", n, m, err)
			}
		}
		if err := f.Close(); err != nil || !bytes.Equal(s.stable, want) {
			t.Error(err)
		}
	}
}

func TestNoProgress(t *testing.T) {
	s := &hostile{volatile: []byte("data"), short: func(int) int { return 0 }}
	f := s.open(t, t.Context(), Config{TransferSize: 2, Parallel: 2}, os.O_RDWR)
	defer f.Close()
	for _, n := range []int{2, 4} {
		if _, err := f.ReadAt(make([]byte, n), 0); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("read: %v", err)
		}
		if _, err := f.WriteAt(make([]byte, n), 0); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("write: %v", err)
		}
	}
	if _, err := f.WriteTo(io.Discard); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("to a Writer: %v", err)
	}
	if _, err := f.ReadFrom(bytes.NewReader([]byte("data"))); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("from a Reader: %v", err)
	}
	f.unstable.check(t)
}

// reader is a Reader made of a function.
type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

// TestReadFromErrors: ReadFrom writes what the Reader returned before it failed, and returns its
// error, including io.ErrUnexpectedEOF.
func TestReadFromErrors(t *testing.T) {
	for _, broken := range []error{errors.New("broken"), io.ErrUnexpectedEOF} {
		s := &hostile{}
		f := s.open(t, t.Context(), Config{TransferSize: 10, Parallel: 2}, os.O_RDWR)
		n, err := f.ReadFrom(io.MultiReader(bytes.NewReader(numbers(95)), iotest.ErrReader(broken)))
		if n != 95 || !errors.Is(err, broken) {
			t.Errorf("%v: %d, %v", broken, n, err)
		}
		if off, _ := f.Seek(0, io.SeekCurrent); off != 95 {
			t.Errorf("%v: the offset is %d", broken, off)
		}
		if err := f.Close(); err != nil || !bytes.Equal(s.stable, numbers(95)) {
			t.Errorf("%v: %d bytes, %v", broken, len(s.stable), err)
		}
	}
	s := &hostile{}
	f := s.open(t, t.Context(), Config{}, os.O_RDWR)
	defer f.Close()
	if _, err := f.ReadFrom(reader(func([]byte) (int, error) { return 0, nil })); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a Reader that gives nothing: %v", err)
	}
}

// TestReadFromStops: once the context has ended, the Reader is not read.
func TestReadFromStops(t *testing.T) {
	s := &hostile{}
	ctx, cancel := context.WithCancel(t.Context())
	f := s.open(t, ctx, Config{}, os.O_RDWR)
	defer f.Close()
	reads := 0
	_, err := f.ReadFrom(reader(func(p []byte) (int, error) {
		if reads++; reads == 3 {
			cancel()
		}
		return copy(p, "x"), nil
	}))
	if !errors.Is(err, context.Canceled) || reads != 3 {
		t.Errorf("%d reads: %v", reads, err)
	}
}

// writer is a Writer made of a function.
type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestWriteToErrors(t *testing.T) {
	s := &hostile{volatile: numbers(100)}
	f := s.open(t, t.Context(), Config{TransferSize: 10, Parallel: 4}, os.O_RDONLY)
	defer f.Close()
	broken := errors.New("broken")
	total := 0
	n, err := f.WriteTo(writer(func(p []byte) (int, error) {
		if total += len(p); total > 50 {
			return 3, broken
		}
		return len(p), nil
	}))
	if n != 53 || !errors.Is(err, broken) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if off, _ := f.Seek(0, io.SeekCurrent); off != 53 {
		t.Errorf("the offset is %d", off)
	}
	if n, err := f.WriteTo(writer(func(p []byte) (int, error) { return len(p) - 1, nil })); n != 9 || err != io.ErrShortWrite {
		t.Errorf("%d bytes, %v", n, err)
	}
	s.fail = func(p nfs3.Proc) nfs3.Status {
		if p == nfs3.ProcRead {
			return nfs3.ErrIO
		}
		return nfs3.OK
	}
	if n, err := f.WriteTo(io.Discard); n != 0 || !errors.Is(err, nfs3.ErrIO) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n, err := f.ReadAt(make([]byte, 30), 0); n != 0 || !errors.Is(err, nfs3.ErrIO) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestPanics: a panic in the caller's Reader or Writer reaches the caller, and the File stays
// usable.
func TestPanics(t *testing.T) {
	s := &hostile{volatile: numbers(100)}
	f := s.open(t, t.Context(), Config{TransferSize: 10, MaxUncommitted: 10}, os.O_RDWR)
	for name, do := range map[string]func(){
		"Writer": func() { f.WriteTo(writer(func([]byte) (int, error) { panic("broken") })) },
		"Reader": func() { f.ReadFrom(reader(func([]byte) (int, error) { panic("broken") })) },
	} {
		func() {
			defer func() {
				if p := recover(); p != "broken" {
					t.Errorf("%s: recovered %v", name, p)
				}
			}()
			do()
		}()
	}
	f.unstable.check(t)
	if _, err := f.WriteAt(make([]byte, 20), 0); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestCancel: when the context ends, calls under way fail and leave nothing behind.
func TestCancel(t *testing.T) {
	for name, do := range map[string]func(f *File) error{
		"WriteTo":  func(f *File) error { _, err := f.WriteTo(io.Discard); return err },
		"ReadAt":   func(f *File) error { _, err := f.ReadAt(make([]byte, 100), 0); return err },
		"ReadFrom": func(f *File) error { _, err := f.ReadFrom(bytes.NewReader(make([]byte, 100))); return err },
		"WriteAt":  func(f *File) error { _, err := f.WriteAt(make([]byte, 100), 0); return err },
	} {
		s := &hostile{volatile: numbers(100)}
		under, _ := s.told()
		ctx, cancel := context.WithCancel(t.Context())
		f := s.open(t, ctx, Config{TransferSize: 10, Parallel: 3}, os.O_RDWR)
		done := make(chan error)
		go func() { done <- do(f) }()
		<-under
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if err := f.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
	}
}

// TestCloseWaits: Close waits for methods under way, and later ones fail.
func TestCloseWaits(t *testing.T) {
	s := &hostile{volatile: numbers(10)}
	f := s.open(t, t.Context(), Config{}, os.O_RDWR)
	under, hold := s.told()
	done := make(chan error, 2)
	p := make([]byte, 10)
	go func() { _, err := f.ReadAt(p, 0); done <- err }()
	<-under
	go func() { done <- f.Close() }()
	for closed := false; !closed; runtime.Gosched() {
		f.life.Lock()
		closed = f.closed
		f.life.Unlock()
	}
	if _, err := f.ReadAt(p, 0); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
	if len(done) != 0 {
		t.Error("Close did not wait")
	}
	close(hold)
	if err := errors.Join(<-done, <-done); err != nil || !bytes.Equal(p, numbers(10)) {
		t.Errorf("%x, %v", p, err)
	}
}

// TestHugeSize: a file whose size exceeds an int64 can be read, and is not overwritten by
// appending.
func TestHugeSize(t *testing.T) {
	s := &hostile{volatile: []byte("text"), size: 1<<63 + 5}
	f := s.open(t, t.Context(), Config{}, os.O_RDWR|os.O_APPEND)
	defer f.Close()
	if n, err := f.Write([]byte("more")); !errors.Is(err, nfs3.ErrFBig) || string(s.volatile) != "text" {
		t.Errorf("%d bytes written, %v: %q", n, err, s.volatile)
	}
	if i, err := f.Stat(); err != nil || i.Size() != math.MaxInt64 {
		t.Error(i, err)
	}
	f.Seek(0, io.SeekStart)
	var got bytes.Buffer
	if n, err := f.WriteTo(&got); n != 4 || err != nil || got.String() != "text" {
		t.Errorf("%d bytes read, %v: %q", n, err, got.String())
	}
}
