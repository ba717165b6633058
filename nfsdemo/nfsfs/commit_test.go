package nfsfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestLost: rewriting lost data does not overwrite data written after the restart.
func TestLost(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(f *File)
		want string
	}{
		{"nothing after", func(*File) {}, "aaaaaaaa"},
		{"the middle", func(f *File) { f.WriteAt([]byte("bb"), 3) }, "aaabbaaa"},
		{"the start", func(f *File) { f.WriteAt([]byte("bb"), 0) }, "bbaaaaaa"},
		{"the end", func(f *File) { f.WriteAt([]byte("bbb"), 7) }, "aaaaaaabbb"},
		{"all", func(f *File) { f.WriteAt([]byte("bbbbbbbb"), 0) }, "bbbbbbbb"},
		{"less", func(f *File) { f.Truncate(3) }, "aaa"},
		{"nothing", func(f *File) { f.Truncate(0) }, ""},
		{"more", func(f *File) { f.Truncate(10) }, "aaaaaaaa\x00\x00"},
		{"less and more", func(f *File) { f.Truncate(3); f.Truncate(5) }, "aaa\x00\x00"},
		{"by ReadFrom", func(f *File) { f.Seek(2, io.SeekStart); f.ReadFrom(strings.NewReader("bb")) }, "aabbaaaa"},
		{"at the end", func(f *File) { f.Seek(0, io.SeekEnd); f.Write([]byte("b")) }, "aaaaaaaab"},
	} {
		for _, stable := range []nfs3.StableHow{nfs3.Unstable, nfs3.DataSync, nfs3.FileSync} {
			s := &hostile{}
			f := s.open(t, t.Context(), Config{}, os.O_RDWR)
			if _, err := f.Write([]byte("aaaaaaaa")); err != nil {
				t.Fatal(err)
			}
			s.reboot()
			s.how = func() nfs3.StableHow { return stable } // of what follows
			tt.do(f)
			s.how = nil
			if err := f.Close(); err != nil || string(s.stable) != tt.want {
				t.Errorf("%s, %d: %q, want %q: %v", tt.name, stable, s.stable, tt.want, err)
			}
		}
	}
}

// TestNoCommit: data that is on stable storage is neither kept nor committed.
func TestNoCommit(t *testing.T) {
	for name, s := range map[string]*hostile{
		"data": {how: func() nfs3.StableHow { return nfs3.DataSync }},
		"file": {how: func() nfs3.StableHow { return nfs3.FileSync }},
	} {
		f := s.open(t, t.Context(), Config{}, os.O_WRONLY)
		f.Write([]byte("text"))
		f.ReadFrom(strings.NewReader("more"))
		if f.unstable.held != 0 || len(f.unstable.spans) != 0 {
			t.Errorf("%s: %d bytes held", name, f.unstable.held)
		}
		if err := f.Close(); err != nil || s.commits != 0 || string(s.stable) != "textmore" {
			t.Errorf("%s: %d COMMITs, %q: %v", name, s.commits, s.stable, err)
		}
	}
	s := &hostile{}
	f := s.open(t, t.Context(), Config{}, os.O_WRONLY|os.O_SYNC)
	f.Write([]byte("text"))
	f.ReadFrom(strings.NewReader("more"))
	if s.commits != 0 || string(s.stable) != "textmore" {
		t.Errorf("O_SYNC: %d COMMITs, %q", s.commits, s.stable)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestVerifier: a file gives up on a server that loses data repeatedly, and stays failed.
func TestVerifier(t *testing.T) {
	s := &hostile{restart: make(map[int]bool)}
	for i := range 100 {
		s.restart[2*i] = true
	}
	f := s.open(t, t.Context(), Config{}, os.O_WRONLY)
	f.Write([]byte("text"))
	if err := f.Sync(); !errors.Is(err, ErrDataLost) {
		t.Errorf("sync: %v", err)
	}
	if s.commits != maxRestarts+1 {
		t.Errorf("%d COMMITs, want %d", s.commits, maxRestarts+1)
	}
	s.restart = nil
	_, err := f.Write([]byte("text"))
	for name, err := range map[string]error{"sync": f.Sync(), "write": err, "close": f.Close()} {
		if !errors.Is(err, ErrDataLost) {
			t.Errorf("%s after: %v", name, err)
		}
	}
}

// TestCommitFails: if data was lost and could not be rewritten, every later Sync and Close fails.
func TestCommitFails(t *testing.T) {
	for _, proc := range []nfs3.Proc{nfs3.ProcCommit, nfs3.ProcWrite} {
		s := &hostile{}
		f := s.open(t, t.Context(), Config{}, os.O_WRONLY)
		f.Write([]byte("text"))
		s.reboot()
		s.fail = func(p nfs3.Proc) nfs3.Status {
			if p == proc {
				return nfs3.ErrNoSpc
			}
			return nfs3.OK
		}
		if err := f.Sync(); !errors.Is(err, nfs3.ErrNoSpc) {
			t.Errorf("%v: sync: %v", proc, err)
		}
		s.fail = nil
		if err := f.Sync(); !errors.Is(err, nfs3.ErrNoSpc) {
			t.Errorf("%v: sync again: %v", proc, err)
		}
		if err := f.Close(); !errors.Is(err, nfs3.ErrNoSpc) {
			t.Errorf("%v: close: %v", proc, err)
		}
		f.unstable.check(t)
	}
}

// TestWriteFails: a failed WRITE is reported only to its caller.
func TestWriteFails(t *testing.T) {
	s := &hostile{}
	f := s.open(t, t.Context(), Config{TransferSize: 10, Parallel: 2}, os.O_RDWR)
	writes := 0
	s.fail = func(p nfs3.Proc) nfs3.Status {
		if p == nfs3.ProcWrite {
			if writes++; writes > 3 {
				return nfs3.ErrFBig
			}
		}
		return nfs3.OK
	}
	n, err := f.WriteAt(make([]byte, 100), 0)
	if !errors.Is(err, nfs3.ErrFBig) || n > 30 || n%10 != 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
	want := 40 // one of the first four WRITEs arrived last
	if n == 30 {
		want = 30
	}
	if n, err := f.ReadFrom(bytes.NewReader(make([]byte, 100))); !errors.Is(err, nfs3.ErrFBig) || n > 50 {
		t.Errorf("from a Reader: %d bytes, %v", n, err)
	}
	s.fail = nil
	f.unstable.check(t)
	if err := f.Close(); err != nil || len(s.stable) != want {
		t.Errorf("%d bytes, %v", len(s.stable), err)
	}
}

// TestClosedContext: once the context has ended, Close succeeds only if all data is safe.
func TestClosedContext(t *testing.T) {
	for _, text := range []string{"", "text"} {
		s := &hostile{}
		ctx, cancel := context.WithCancel(t.Context())
		f := s.open(t, ctx, Config{}, os.O_WRONLY)
		f.Write([]byte(text))
		cancel()
		if err := f.Close(); errors.Is(err, context.Canceled) != (text != "") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestUncommitted: a writer with more than Config.MaxUncommitted waits for a COMMIT. That COMMIT is
// sent before the limit is reached, while other writes continue.
func TestUncommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &hostile{}
		under, hold := s.told()
		f := s.open(t, t.Context(), Config{TransferSize: 10, Parallel: 4, MaxUncommitted: 40}, os.O_WRONLY)
		one := func(want nfs3.Proc) {
			t.Helper()
			if p := <-under; p != want {
				t.Errorf("%v, want %v", p, want)
			}
		}
		var wg sync.WaitGroup
		write := func(at int64) {
			wg.Go(func() {
				if _, err := f.WriteAt(make([]byte, 10), at); err != nil {
					t.Error(err)
				}
			})
		}
		write(0)
		one(nfs3.ProcWrite)
		hold <- struct{}{}
		synctest.Wait() // it is answered
		write(10)
		one(nfs3.ProcWrite)
		hold <- struct{}{}
		one(nfs3.ProcCommit) // half is full
		write(20)
		one(nfs3.ProcWrite) // it goes on
		write(30)
		one(nfs3.ProcWrite)
		write(40) // there is no more room
		synctest.Wait()
		f.unstable.mu.Lock()
		if f.unstable.held != 40 || f.unstable.waiting != 1 || len(under) > 0 {
			t.Errorf("%d bytes held, %d wait for room", f.unstable.held, f.unstable.waiting)
		}
		f.unstable.mu.Unlock()
		close(hold)
		// The first COMMIT or a later one has made room, and Close sends the last.
		wg.Wait()
		if err := f.Close(); err != nil || len(s.stable) != 50 {
			t.Errorf("%d bytes: %v", len(s.stable), err)
		}
	})
}

// TestCommitCovers: a COMMIT covers WRITEs that were answered before it was sent, not those that
// the server executed later while the COMMIT's reply was under way.
func TestCommitCovers(t *testing.T) {
	for name, off := range map[string]int64{"behind": 4, "elsewhere": 10, "over": 2} {
		s := &hostile{}
		f := s.open(t, t.Context(), Config{}, os.O_WRONLY)
		want := put(nil, 0, []byte("text"))
		f.Write(want)
		executed, reply := make(chan struct{}), make(chan struct{})
		s.after = func(p nfs3.Proc) {
			if p == nfs3.ProcCommit {
				executed <- struct{}{}
				<-reply
			}
		}
		synced := make(chan error)
		go func() { synced <- f.Sync() }()
		<-executed
		f.WriteAt([]byte("more"), off)
		want = put(want, uint64(off), []byte("more"))
		reply <- struct{}{}
		if err := <-synced; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s.after = nil
		s.reboot()
		if err := f.Close(); err != nil || !bytes.Equal(s.stable, want) {
			t.Errorf("%s: %q, want %q: %v", name, s.stable, want, err)
		}
	}
}

// TestRewriteExcludes: while lost data is rewritten, no other WRITE is under way that it could
// overtake.
func TestRewriteExcludes(t *testing.T) {
	s := &hostile{}
	f := s.open(t, t.Context(), Config{}, os.O_WRONLY)
	f.Write([]byte("old"))
	s.reboot()
	under, hold := s.told()
	synced := make(chan error)
	go func() { synced <- f.Sync() }()
	<-under // COMMIT
	hold <- struct{}{}
	if p := <-under; p != nfs3.ProcWrite {
		t.Fatalf("%v, want WRITE", p)
	}
	written := make(chan error)
	go func() {
		_, err := f.WriteAt([]byte("new"), 0)
		written <- err
	}()
	for held := 0; held != 6; {
		f.unstable.mu.Lock()
		held = f.unstable.held
		f.unstable.mu.Unlock()
		runtime.Gosched()
	}
	hold <- struct{}{}
	close(hold)
	if err := errors.Join(<-synced, <-written, f.Close()); err != nil || string(s.stable) != "new" {
		t.Errorf("%q: %v", s.stable, err)
	}
}

// TestSmallWrites: small writes share buffers and spans.
func TestSmallWrites(t *testing.T) {
	s := &hostile{}
	f := s.open(t, t.Context(), Config{}, os.O_WRONLY)
	for i := range 1000 {
		f.WriteAt([]byte{byte(i)}, int64(i))
	}
	if n := len(f.unstable.spans); n != 1 || f.unstable.held != 1000 {
		t.Errorf("%d spans with %d bytes", n, f.unstable.held)
	}
	for i := range 2 * maxSpans {
		f.WriteAt([]byte{byte(i)}, int64(3*i+2000))
		f.unstable.idle()
		if n := len(f.unstable.spans); n > maxSpans {
			t.Fatalf("%d spans", n)
		}
	}
	f.unstable.check(t)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
