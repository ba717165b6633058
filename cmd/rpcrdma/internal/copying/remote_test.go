package copying

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// serve serves an empty file system until the test ends, and returns its URL.
func serve(t *testing.T) string {
	t.Helper()
	files, err := memfs.New(memfs.Config{Capacity: 1 << 20, RootMode: 0o777})
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	nfs, err := nfsserver.New(nfsserver.Config{Logger: quiet, Exports: []nfsserver.Export{
		{Path: "/", FS: files, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	s.Handle(nfs.Programs()...)
	l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(context.Background(), l, s, rpcrdma.Config{Logger: quiet}) }()
	t.Cleanup(func() {
		s.Close()
		hang.Receive(t, "the end of the server", served)
	})
	return "rdma://" + l.Addr().String() + "/"
}

// TestRemoteSource: with -r, a link on the command line is copied itself, unless a slash follows.
// Otherwise the file is copied that it leads to.
func TestRemoteSource(t *testing.T) {
	url := serve(t)
	var r remote.Session
	defer r.Close()
	x, _, err := openRemote(t.Context(), &r, url)
	if err != nil {
		t.Fatal(err)
	}
	file, err := x.create(t.Context(), "file", 0o644, true)
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if err := x.mkdir(t.Context(), "dir", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"file", "dir"} {
		if err := x.symlink(t.Context(), to, "to-"+to); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		url       string
		recursive bool
		want      fs.FileMode // type
		wantErr   error
	}{
		{"file", false, 0, nil},
		{"file", true, 0, nil},
		{"file/", true, 0, words.ErrNotDirectory},
		{"dir", false, 0, words.ErrDirectory},
		{"dir", true, fs.ModeDir, nil},
		{"dir/", true, fs.ModeDir, nil},
		{"to-file", false, 0, nil},
		{"to-file", true, fs.ModeSymlink, nil},
		{"to-file/", true, 0, words.ErrNotDirectory},
		{"to-dir", false, 0, words.ErrDirectory},
		{"to-dir", true, fs.ModeSymlink, nil},
		{"to-dir/", true, fs.ModeDir, nil},
		{"nothing", true, 0, fs.ErrNotExist},
	} {
		f, _, err := remoteSource(t.Context(), &r, url+tt.url, tt.recursive)
		if f.mode.Type() != tt.want || !errors.Is(err, tt.wantErr) {
			t.Errorf("%s, recursive %t: got %v, %v, want %v, %v", tt.url, tt.recursive,
				f.mode.Type(), err, tt.want, tt.wantErr)
		}
	}
}
