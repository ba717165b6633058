package nfsserver_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// lines is a log without times.
type lines struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// want compares the lines logged since the last call.
func (l *lines) want(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var got []string
	for line := range strings.Lines(l.buf.String()) {
		got = append(got, strings.TrimSuffix(line, "\n"))
	}
	l.buf.Reset()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("log (-want +got):\n%s", d)
	}
}

// TestMountLog: mounts, unmounts and refusals with their reasons are logged once.
func TestMountLog(t *testing.T) {
	w := newWorld(t)
	x := export(w.fs)
	x.Path = "/srv"
	x.Rules = []nfsserver.Rule{{Clients: prefixes("192.0.2.0/24")}}
	var log lines
	s, rpc := counted(t, nfsserver.Config{Exports: []nfsserver.Export{x}, Logger: log.logger()})
	mode := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o700}}
	if _, _, err := w.fs.Mkdir(t.Context(), &vfs.Cred{UID: 7}, w.root, "private", &mode); err != nil {
		t.Fatal(err)
	}
	private, _, err := w.fs.Lookup(t.Context(), &vfs.Cred{}, w.root, "private")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.fs.Mkdir(t.Context(), &vfs.Cred{UID: 7}, private.File, "below", &mode); err != nil {
		t.Fatal(err)
	}
	peer := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 700}
	for _, tt := range []struct {
		name string
		peer net.Addr
		uid  uint32
		dir  string
		want error
		line string
	}{
		{"mounted", peer, 5, "/srv", nil, `level=INFO msg="nfs: mounted" peer=192.0.2.1:700 path=/srv uid=5`},
		{"again", peer, 5, "/srv/dir", nil, ""},
		{"no export", peer, 5, "/none", mount3.ErrNoEnt,
			`level=WARN msg="nfs: mount refused" peer=192.0.2.1:700 path=/none why="there is no such export"`},
		{"no directory", peer, 5, "/srv/none", mount3.ErrNoEnt,
			`level=WARN msg="nfs: mount refused" peer=192.0.2.1:700 path=/srv/none ` +
				`why="there is no such directory in the export" export=/srv uid=5`},
		{"a file", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 700}, 5, "/srv/file", mount3.ErrNotDir,
			`level=WARN msg="nfs: mount refused" peer=192.0.2.2:700 path=/srv/file ` +
				`why="it is not a directory" export=/srv uid=5`},
		{"not for the caller", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 3), Port: 700}, 5, "/srv/private/below",
			mount3.ErrAcces, `level=WARN msg="nfs: mount refused" peer=192.0.2.3:700 path=/srv/private/below ` +
				`why="the caller has no access to the directory" export=/srv uid=5`},
		{"squashed", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 4), Port: 700}, 0, "/srv/private/below",
			mount3.ErrAcces, `level=WARN msg="nfs: mount refused" peer=192.0.2.4:700 path=/srv/private/below ` +
				`why="the caller is squashed, and the anonymous user has no access to the directory" export=/srv uid=65534`},
		{"not for the host", &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 700}, 5, "/srv", mount3.ErrAcces,
			`level=WARN msg="nfs: the export is not for this peer" peer=10.0.0.1:700 export=/srv`},
		{"a long path", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 5), Port: 700}, 5, "/" + strings.Repeat("x", 1000),
			mount3.ErrNoEnt, `level=WARN msg="nfs: mount refused" peer=192.0.2.5:700 path=/` +
				strings.Repeat("x", 127) + `... why="there is no such export"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn := pipe.NewFrom(rpc, pipe.Inline, tt.peer)
			if _, err := nfsclient.Mount(t.Context(), conn, auth(t, tt.uid), tt.dir); !errors.Is(err, tt.want) {
				t.Errorf("MNT: got error %v, want %v", err, tt.want)
			}
			var want []string
			if tt.line != "" {
				want = append(want, tt.line)
			}
			log.want(t, want...)
		})
	}
	conn := pipe.NewFrom(rpc, pipe.Inline, peer)
	for range 2 { // the second time, nothing is mounted there
		if err := nfsclient.Unmount(t.Context(), conn, auth(t, 5), "/srv"); err != nil {
			t.Fatal(err)
		}
	}
	log.want(t, `level=INFO msg="nfs: unmounted" peer=192.0.2.1:700 path=/srv`)
	want := nfsserver.Stats{Mounts: 2, Refused: 1, NoExport: 2}
	if got := s.Stats(); got != want {
		t.Errorf("counters %+v, want %+v", got, want)
	}
}

// brokenDisk is a file system whose disk fails while err is set.
type brokenDisk struct {
	vfs.FS
	err error
}

func (f *brokenDisk) GetAttr(ctx context.Context, h nfs3.FH) (nfs3.Fattr, error) {
	if f.err != nil {
		return nfs3.Fattr{}, f.err
	}
	return f.FS.GetAttr(ctx, h)
}

// TestFailureLog: a failing file system is logged once a minute. An export that goes away or comes
// back is logged once each time. An error of one file is not a failure of the export.
func TestFailureLog(t *testing.T) {
	w := newWorld(t)
	fs := &brokenDisk{FS: w.fs}
	x := export(fs)
	x.Path = "/srv"
	var log lines
	_, rpc := counted(t, nfsserver.Config{Exports: []nfsserver.Export{x}, Logger: log.logger()})
	c := nfsclient.New(pipe.New(rpc, pipe.Inline), auth(t, 0))
	get := func(h nfs3.FH, want error) {
		t.Helper()
		if _, err := c.GetAttr(t.Context(), h); !errors.Is(err, want) {
			t.Errorf("GETATTR: got error %v, want %v", err, want)
		}
	}
	get(w.stale, nfs3.ErrStale)
	log.want(t)
	fs.err = nfs3.ErrIO
	for range 3 {
		get(w.root, nfs3.ErrIO)
	}
	const gone = `level=ERROR msg="nfs: an export has gone away" export=/srv err=`
	log.want(t, `level=ERROR msg="nfs: the file system fails" export=/srv procedure=GETATTR err=NFS3ERR_IO`,
		gone+"NFS3ERR_IO")
	fs.err = nil
	for range 3 {
		get(w.root, nil)
	}
	log.want(t, `level=INFO msg="nfs: an export is back" export=/srv`)
	fs.err = nfs3.ErrStale
	get(w.root, nfs3.ErrStale)
	const removed = `"its directory has been removed"`
	log.want(t, gone+removed)
	if _, err := c.Mount(t.Context(), "/srv"); err == nil {
		t.Error("it can be mounted")
	}
	log.want(t, `level=WARN msg="nfs: mount refused" peer=pipe path=/srv why=`+removed+" export=/srv uid=0")
}

// TestDenied: refused calls are counted.
func TestDenied(t *testing.T) {
	w := newWorld(t)
	s, rpc := counted(t, nfsserver.Config{
		Exports: []nfsserver.Export{export(w.fs)}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	c := nfsclient.New(pipe.New(rpc, pipe.Inline), auth(t, 5))
	if _, err := c.SetAttr(t.Context(), w.file, nfs3.Sattr{UID: nfs3.Set32{Set: true, To: 7}}, nil); err == nil {
		t.Error("SETATTR by another user succeeded")
	}
	if n := s.Stats().Denied; n != 1 {
		t.Errorf("%d are counted, want 1", n)
	}
}
