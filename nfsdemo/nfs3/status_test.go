package nfs3_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		status nfs3.Status
		is     error
	}{
		{nfs3.ErrNoEnt, fs.ErrNotExist},
		{nfs3.ErrStale, fs.ErrNotExist},
		{nfs3.ErrExist, fs.ErrExist},
		{nfs3.ErrPerm, fs.ErrPermission},
		{nfs3.ErrAcces, fs.ErrPermission},
		{nfs3.ErrInval, fs.ErrInvalid},
		{nfs3.ErrIO, nfs3.ErrIO},
	} {
		if !errors.Is(fmt.Errorf("wrapped: %w", tt.status), tt.is) {
			t.Errorf("%v is not %v", tt.status, tt.is)
		}
	}
	if errors.Is(nfs3.ErrIO, fs.ErrNotExist) {
		t.Error("NFS3ERR_IO is fs.ErrNotExist")
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		got  fmt.Stringer
		want string
	}{
		{nfs3.ErrNotSync, "NFS3ERR_NOT_SYNC"},
		{nfs3.Status(12345), "nfsstat3 12345"},
		{nfs3.ProcNull, "NULL"},
		{nfs3.ProcCommit, "COMMIT"},
		{nfs3.Proc(22), "procedure 22"},
		{nfs3.MakeFH([]byte{1, 0xab}), "01ab"},
	} {
		if tt.got.String() != tt.want {
			t.Errorf("%v, want %s", tt.got, tt.want)
		}
	}
}

func TestFH(t *testing.T) {
	a, b := nfs3.MakeFH([]byte{1, 0}), nfs3.MakeFH([]byte{1})
	if a == b {
		t.Error("handles of different lengths are equal")
	}
	c := nfs3.MakeFH(make([]byte, 100))
	if c.Len() != nfs3.FHSize {
		t.Errorf("a handle of %d bytes", c.Len())
	}
}
