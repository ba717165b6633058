//go:build linux

package dirfs

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// TestMaxFileSize: the maximum file size is the host's, not a guess.
func TestMaxFileSize(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	limit := f.Info().MaxFileSize
	h := create(t, f, "file")
	set := nfs3.Sattr{Size: nfs3.Set64{Set: true, To: limit}}
	wcc, err := f.SetAttr(t.Context(), super, h, &set, nil)
	if err != nil || wcc.After.Attr.Size != limit {
		t.Errorf("size %d: %v, %+v", limit, err, wcc)
	}
	if limit == math.MaxInt64 {
		return
	}
	err = os.Truncate(filepath.Join(f.tree.host.path, "file"), int64(limit+1))
	if !errors.Is(err, unix.EFBIG) && !errors.Is(err, unix.EINVAL) {
		t.Errorf("the host takes a size of %d: %v", limit+1, err)
	}
}

// TestTimeDelta: a time that is a multiple of TimeDelta is stored exactly.
func TestTimeDelta(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	step := f.Info().TimeDelta.Nanos()
	if step < 1 || step > 1e9 || 1e9%step != 0 {
		t.Fatalf("a step of %d ns", step)
	}
	h := create(t, f, "file")
	want := nfs3.Nearest(time.Unix(0, 1234567890123456789/step*step))
	set := nfs3.Sattr{Mtime: nfs3.SetTime{How: nfs3.ToClientTime, To: want}}
	if wcc, err := f.SetAttr(t.Context(), super, h, &set, nil); err != nil || wcc.After.Attr.Mtime != want {
		t.Errorf("%v, want %v: %v", wcc.After.Attr.Mtime, want, err)
	}
}

// TestSizeLimit: the process's limit on file sizes is the file system's limit. Exceeding it would
// kill the process.
func TestSizeLimit(t *testing.T) {
	const limit = 1 << 20
	var before unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &before))
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: before.Max}))
	defer unix.Setrlimit(unix.RLIMIT_FSIZE, &before)
	f := newIn(t, Config{Path: tempDir(t)})
	ctx := t.Context()
	if got := f.Info().MaxFileSize; got != limit {
		t.Errorf("largest file: %d", got)
	}
	h := create(t, f, "file")
	write(t, f, h, limit-1, []byte("x"))
	size := nfs3.Sattr{Size: nfs3.Set64{Set: true, To: limit + 1}}
	for what, err := range map[string]error{
		"write":   first(f.Write(ctx, super, h, limit-1, vfstest.Bulk([]byte("xy")), nfs3.Unstable)),
		"setattr": first(f.SetAttr(ctx, super, h, &size, nil)),
		"create":  second(f.Create(ctx, super, f.Root(), "new", &nfs3.CreateHow{Set: size})),
	} {
		if err != nfs3.ErrFBig {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestLinkMax: the link limits of known file systems, and a safe limit for others.
func TestLinkMax(t *testing.T) {
	for _, tt := range []struct {
		magic int64
		want  uint32
	}{
		{unix.EXT4_SUPER_MAGIC, 65000}, {unix.XFS_SUPER_MAGIC, math.MaxInt32}, {unix.BTRFS_SUPER_MAGIC, 65535},
		{unix.TMPFS_MAGIC, math.MaxUint32}, {unix.NFS_SUPER_MAGIC, 127},
	} {
		if got := linkMax(tt.magic); got != tt.want {
			t.Errorf("file system %#x: %d, want %d", tt.magic, got, tt.want)
		}
	}
}
