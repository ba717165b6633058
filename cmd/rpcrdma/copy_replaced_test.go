package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// replacing is a server where a file or link gets replaced by RENAME while it is copied.
type replacing struct {
	*clientRig
	at    atomic.Uint32 // the next call of this nfs3.Proc replaces it; 0: none does
	times atomic.Int32  // so many calls more do
	read  atomic.Bool   // the file has been read: a GETATTR replaces it only then
	name  string        // of what is replaced
}

func startReplacing(t *testing.T) *replacing {
	s := &replacing{}
	s.clientRig, _ = startStepped(t, func(_ context.Context, p nfs3.Proc, _ int64) {
		if p == nfs3.ProcRead {
			s.read.Store(true)
		}
		if s.at.Load() == 0 || p != nfs3.Proc(s.at.Load()) || p == nfs3.ProcGetAttr && !s.read.Load() {
			return
		}
		s.at.Store(0)
		n := s.times.Add(-1)
		done(t, s.exec(t, "tcp", "mv", fmt.Sprint("@/memory/next", n), s.name))
		if n > 0 {
			s.read.Store(false)
			s.at.Store(uint32(p))
		}
	})
	return s
}

// replace has later calls of at replace a file by others.
func (s *replacing) replace(t *testing.T, name string, at nfs3.Proc, by ...[]byte) {
	t.Helper()
	dir := t.TempDir()
	for i, data := range by {
		next := rig.Write(t, filepath.Join(dir, "next"), data)
		done(t, s.exec(t, "tcp", "put", "-q", next, fmt.Sprint("@/memory/next", len(by)-1-i)))
	}
	s.name = name
	s.times.Store(int32(len(by)))
	s.read.Store(false)
	s.at.Store(uint32(at))
}

// replaced fails the test unless all replacements have happened.
func (s *replacing) replaced(t *testing.T) {
	t.Helper()
	if s.at.Swap(0) != 0 {
		t.Error("nothing was replaced")
	}
}

// TestReplaced: get and cp copy a file that is replaced by RENAME meanwhile once more: whatever its
// size, alone and in a tree, and whether the server says so when they open it, read it, or look at
// it in the end.
func TestReplaced(t *testing.T) {
	r := startReplacing(t)
	dir := t.TempDir()
	one := func(n int) []byte { return bytes.Repeat([]byte("one"), n/3) }
	two := func(n int) []byte { return bytes.Repeat([]byte("two!"), n/4) }
	const small, medium, large = 3 << 10, 300 << 10, 6 << 20
	all := []nfs3.Proc{nfs3.ProcAccess, nfs3.ProcRead, nfs3.ProcGetAttr}
	for _, tt := range []struct {
		args string // of a command that copies @/memory/tree/file
		size int
		at   []nfs3.Proc
	}{
		{"get -q @/memory/tree/file copy", small, []nfs3.Proc{nfs3.ProcRead}},
		{"get -q @/memory/tree/file copy", medium, all},
		{"get -q @/memory/tree/file copy", large, all},
		{"get -q -T -r @/memory/tree .", small, []nfs3.Proc{nfs3.ProcRead}},
		{"get -q -T -r @/memory/tree .", medium, all},
		{"get -q --sparse @/memory/tree/file copy", small, all},
		{"get -q --partial @/memory/tree/file copy", large, all},
		{"get -q -c @/memory/tree/file copy", small, all},
		{"cp -q @/memory/tree/file @/memory/copy", medium, all},
		{"cp -q --sparse @/memory/tree/file @/memory/copy", medium, all},
		{"cp -q -T -r @/memory/tree @/memory/other", large, all},
	} {
		for i, at := range tt.at {
			scheme := schemes[i%len(schemes)]
			t.Run(fmt.Sprintf("%s/%d/%v", tt.args, tt.size, at), func(t *testing.T) {
				down := t.TempDir()
				up := rig.Write(t, filepath.Join(dir, "up"), one(tt.size))
				r.exec(t, "tcp", "mkdir", "-p", "@/memory/tree")
				done(t, r.exec(t, "tcp", "put", "-q", up, "@/memory/tree/file"))
				copied := filepath.Join(down, "copy")
				switch args := tt.args; {
				case strings.Contains(args, " -c "): // the same, so all is read
					rig.Write(t, copied, one(tt.size))
				case strings.HasSuffix(args, " ."):
					copied = filepath.Join(down, "file")
				}
				want := two(tt.size + 400)
				r.replace(t, "@/memory/tree/file", at, want)
				args := strings.Fields(tt.args)
				to := &args[len(args)-1]
				if !strings.HasPrefix(*to, "@") {
					*to = filepath.Join(down, *to)
				}
				done(t, r.exec(t, scheme, args...))
				r.replaced(t)
				switch *to {
				case "@/memory/copy":
					done(t, r.exec(t, "tcp", "get", "-q", *to, copied))
				case "@/memory/other":
					done(t, r.exec(t, "tcp", "get", "-q", *to+"/file", copied))
				}
				rig.Holds(t, copied, want)
				if left, _ := os.ReadDir(down); len(left) != 1 {
					t.Errorf("there are %v", left)
				}
			})
		}
	}
}

// TestReplacedAgain: a file that is replaced both times that it is read replaces nothing.
func TestReplacedAgain(t *testing.T) {
	r := startReplacing(t)
	for _, size := range []int{1000, 300 << 10} {
		up := rig.Write(t, filepath.Join(t.TempDir(), "up"), rig.Pattern(size))
		done(t, r.exec(t, "tcp", "put", "-q", up, "@/memory/file"))
		down := rig.Write(t, filepath.Join(t.TempDir(), "down"), []byte("before"))
		r.replace(t, "@/memory/file", nfs3.ProcRead, rig.Pattern(size), rig.Pattern(size))
		got := r.exec(t, "tcp", "get", "-q", "@/memory/file", down)
		r.replaced(t)
		if want := "rpcrdma get @/memory/file: changed each time that it was read: not copied\n"; got != (outcome{1, "", want}) {
			t.Errorf("%d bytes: got %+v", size, got)
		}
		rig.Holds(t, down, []byte("before"))

		// Standard output may have the beginning of the old file already.
		r.replace(t, "@/memory/file", nfs3.ProcRead, rig.Pattern(size))
		got = r.exec(t, "tcp", "get", "-q", "@/memory/file", "-")
		r.replaced(t)
		if want := "rpcrdma get @/memory/file: changed while it was read\n"; got.code != 1 || got.stderr != want {
			t.Errorf("%d bytes to standard output: got exit %d and %q", size, got.code, got.stderr)
		}
	}
}

// TestReplacedLink: a link that is replaced by RENAME while it is copied is copied as it is then.
func TestReplacedLink(t *testing.T) {
	r := startReplacing(t)
	for _, option := range []string{"-q", "-c"} {
		down := t.TempDir()
		done(t, r.exec(t, "tcp", "ln", "-sf", "one", "@/memory/link"))
		done(t, r.exec(t, "tcp", "ln", "-sf", "two", "@/memory/next0"))
		r.replace(t, "@/memory/link", nfs3.ProcReadLink)
		r.times.Store(1)
		copied := filepath.Join(down, "link")
		if option == "-c" {
			if err := os.Symlink("one", copied); err != nil {
				t.Fatal(err)
			}
		}
		done(t, r.exec(t, "rdma", "get", "-q", "-r", option, "@/memory/link", down))
		r.replaced(t)
		if to, err := os.Readlink(copied); to != "two" || err != nil {
			t.Errorf("%s: got a link to %q, %v", option, to, err)
		}
	}
}
