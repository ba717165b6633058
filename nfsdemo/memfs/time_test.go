package memfs

import (
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// TestEveryChangeShows: successive changes get distinct times, however fast they follow one
// another, even if the clock stands still or was set back.
func TestEveryChangeShows(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) { everyChangeShows(t, ahead) })
	}
}

// everyChangeShows starts with files whose last change is ahead of the clock.
func everyChangeShows(t *testing.T, ahead time.Duration) {
	fs := newFS(t, Config{})
	r := fs.Root()
	d := mkdir(t, fs, r, "dir")
	h := create(t, fs, "file")
	for _, n := range fs.nodes {
		n.ctime += int64(ahead)
		n.mtime = n.ctime
	}
	set := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o600}}
	for i := range 100 {
		for _, tt := range []struct {
			what     string
			do       func()
			modified []nfs3.FH // mtime and ctime move
			changed  []nfs3.FH // ctime alone
		}{
			{"write", func() { write(t, fs, h, 0, []byte("x")) }, []nfs3.FH{h}, nil},
			{"truncate", func() { truncate(t, fs, h, 1) }, []nfs3.FH{h}, nil},
			{"chmod", func() { fs.SetAttr(t.Context(), super, h, &set, nil) }, nil, []nfs3.FH{h}},
			{"create", func() { create(t, fs, string(rune('A'+i))) }, []nfs3.FH{r}, nil},
			{"link", func() { link(t, fs, h, d, "link") }, []nfs3.FH{d}, []nfs3.FH{h}},
			{"remove", func() { remove(t, fs, d, "link") }, []nfs3.FH{d}, []nfs3.FH{h}},
			{"rename", func() { rename(t, fs, r, "file", r, "renamed") }, []nfs3.FH{r}, []nfs3.FH{h}},
			{"rename away", func() { rename(t, fs, r, "renamed", d, "file") }, []nfs3.FH{r, d}, []nfs3.FH{h}},
			{"rename back", func() { rename(t, fs, d, "file", r, "file") }, []nfs3.FH{r, d}, []nfs3.FH{h}},
		} {
			var before []nfs3.Fattr
			all := append(tt.modified, tt.changed...)
			for _, h := range all {
				a, _ := fs.GetAttr(t.Context(), h)
				before = append(before, a)
			}
			tt.do()
			for i, h := range all {
				a := before[i]
				b, _ := fs.GetAttr(t.Context(), h)
				if b.Ctime.Nanos() <= a.Ctime.Nanos() || (b.Mtime.Nanos() > a.Mtime.Nanos()) != (i < len(tt.modified)) {
					t.Fatalf("%s: %+v, then %+v", tt.what, a, b)
				}
			}
		}
	}
}

// TestAtime: the first read after each change updates the atime of files, directories and links.
func TestAtime(t *testing.T) {
	fs := newFS(t, Config{})
	r := fs.Root()
	file := create(t, fs, "file")
	write(t, fs, file, 0, []byte("x"))
	o, _, err := fs.Symlink(t.Context(), super, r, "link", "path", &nfs3.Sattr{})
	if err != nil {
		t.Fatal(err)
	}
	early := nfs3.SetTime{How: nfs3.ToClientTime, To: nfs3.Time{Sec: 1}}
	for what, tt := range map[string]struct {
		h    nfs3.FH
		read func()
	}{
		"file":      {file, func() { vfstest.Read(t.Context(), fs, super, file, 0, 1) }},
		"directory": {r, func() { names(t, fs, r, 10) }},
		"link":      {o.File, func() { fs.ReadLink(t.Context(), super, o.File) }},
	} {
		if _, err := fs.SetAttr(t.Context(), super, tt.h, &nfs3.Sattr{Atime: early}, nil); err != nil {
			t.Fatal(err)
		}
		tt.read()
		once, _ := fs.GetAttr(t.Context(), tt.h)
		tt.read()
		twice, _ := fs.GetAttr(t.Context(), tt.h)
		if once.Atime.Nanos() < once.Ctime.Nanos() || twice != once {
			t.Errorf("%s: read once %+v, twice %+v", what, once, twice)
		}
		if _, err := fs.SetAttr(t.Context(), super, tt.h, &nfs3.Sattr{GID: nfs3.Set32{Set: true, To: 5}}, nil); err != nil {
			t.Fatal(err)
		}
		tt.read()
		if a, _ := fs.GetAttr(t.Context(), tt.h); a.Atime.Nanos() < a.Ctime.Nanos() || a.Mtime != once.Mtime {
			t.Errorf("%s: read after a change of attributes: %+v", what, a)
		}
	}
}
