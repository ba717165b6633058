//go:build linux

package dirfs

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestStatuses maps errors of the host to statuses for the client. Errors that the operator should
// see are logged.
func TestStatuses(t *testing.T) {
	for _, tt := range []struct {
		in     error
		want   error
		logged bool
	}{
		{nil, nil, false},
		{unix.ENOENT, nfs3.ErrNoEnt, false},
		{unix.EACCES, nfs3.ErrAcces, false},
		{unix.EPERM, nfs3.ErrPerm, false},
		{unix.EEXIST, nfs3.ErrExist, false},
		{unix.ENOTDIR, nfs3.ErrNotDir, false},
		{unix.EISDIR, nfs3.ErrIsDir, false},
		{unix.EINVAL, nfs3.ErrInval, false},
		{unix.EFBIG, nfs3.ErrFBig, false},
		{unix.ENOSPC, nfs3.ErrNoSpc, false},
		{unix.EROFS, nfs3.ErrROFS, false},
		{unix.EMLINK, nfs3.ErrMLink, false},
		{unix.ENAMETOOLONG, nfs3.ErrNameTooLong, false},
		{unix.ENOTEMPTY, nfs3.ErrNotEmpty, false},
		{unix.EDQUOT, nfs3.ErrDQuot, false},
		{unix.ESTALE, nfs3.ErrStale, false},
		{unix.EXDEV, nfs3.ErrXDev, false},
		{unix.ENXIO, nfs3.ErrNXIO, false},
		{unix.ENODEV, nfs3.ErrNoDev, false},
		{unix.EOPNOTSUPP, nfs3.ErrNotSupp, false},
		{unix.EIO, nfs3.ErrIO, true},
		{unix.EMFILE, nfs3.ErrJukebox, true},
		{unix.ENFILE, nfs3.ErrJukebox, true},
		{unix.ENOMEM, nfs3.ErrJukebox, true},
		{unix.EUCLEAN, nfs3.ErrIO, true},
		{&os.PathError{Op: "open", Path: "x", Err: unix.EDQUOT}, nfs3.ErrDQuot, false},
		{errors.New("something else"), nfs3.ErrIO, true},
		{nfs3.ErrNotSync, nfs3.ErrNotSync, false},
	} {
		var log strings.Builder
		h := newHost("", slog.New(slog.NewTextHandler(&log, nil)))
		if got := h.status("op", tt.in); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.in, got, tt.want)
		}
		if (log.Len() > 0) != tt.logged {
			t.Errorf("%v: logged %q", tt.in, log.String())
		}
	}
}
