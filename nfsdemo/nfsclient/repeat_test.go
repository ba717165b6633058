package nfsclient_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// again is a transport that marks each call that may be repeated as repeated, and records the
// others.
type again struct {
	*pipe.Conn
	calls   int
	refused []uint32 // procedures
}

func (a *again) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	a.calls++
	if !x.MayRepeat {
		a.refused = append(a.refused, binary.BigEndian.Uint32(x.Call.Inline[20:]))
	}
	x.Repeated = x.MayRepeat
	return a.Conn.RoundTrip(ctx, x)
}

// TestRepeat: every call may be repeated, and its error says so.
func TestRepeat(t *testing.T) {
	ctx := t.Context()
	gone := nfs3.FH{} // a handle unknown to all servers
	tr := &again{Conn: pipe.New(server(t), pipe.Inline)}
	c := nfsclient.New(tr, oncrpc.AuthNone())
	const sent = " (the call was sent more than once: the first may have been executed)"
	tests := []struct {
		name string
		call func() error
		want string // "" for success
	}{
		{"NULL", func() error { return c.Null(ctx) }, ""},
		{"GETATTR", func() error { return second(c.GetAttr(ctx, gone)) }, "NFS3ERR_BADHANDLE"},
		{"SETATTR", func() error { return second(c.SetAttr(ctx, gone, nfs3.Sattr{}, nil)) }, "NFS3ERR_BADHANDLE"},
		{"LOOKUP x", func() error { return second(c.Lookup(ctx, gone, "x")) }, "NFS3ERR_BADHANDLE"},
		{"ACCESS", func() error { return second(c.Access(ctx, gone, nfs3.AccessAll)) }, "NFS3ERR_BADHANDLE"},
		{"READLINK", func() error { return second(c.ReadLink(ctx, gone)) }, "NFS3ERR_BADHANDLE"},
		{"READ", func() error { return second(c.Read(ctx, gone, 0, make([]byte, 9))) }, "NFS3ERR_BADHANDLE"},
		{"WRITE", func() error { return second(c.Write(ctx, gone, 0, make([]byte, 9), nfs3.Unstable)) }, "NFS3ERR_BADHANDLE"},
		{"CREATE x", func() error { return second(c.Create(ctx, gone, "x", nfs3.CreateHow{})) }, "NFS3ERR_BADHANDLE" + sent},
		{"MKDIR x", func() error { return second(c.Mkdir(ctx, gone, "x", nfs3.Sattr{})) }, "NFS3ERR_BADHANDLE" + sent},
		{"SYMLINK x", func() error { return second(c.Symlink(ctx, gone, "x", "y", nfs3.Sattr{})) }, "NFS3ERR_BADHANDLE" + sent},
		{"MKNOD x", func() error {
			return second(c.Mknod(ctx, gone, "x", nfs3.TypeFIFO, nfs3.Specdata{}, nfs3.Sattr{}))
		}, "NFS3ERR_BADHANDLE" + sent},
		{"REMOVE x", func() error { return c.Remove(ctx, gone, "x") }, "NFS3ERR_BADHANDLE" + sent},
		{"RMDIR x", func() error { return c.Rmdir(ctx, gone, "x") }, "NFS3ERR_BADHANDLE" + sent},
		{"RENAME x", func() error { return c.Rename(ctx, gone, "x", gone, "y") }, "NFS3ERR_BADHANDLE" + sent},
		{"LINK x", func() error { return second(c.Link(ctx, gone, gone, "x")) }, "NFS3ERR_BADHANDLE" + sent},
		{"READDIRPLUS", func() error { return list(ctx, c, gone) }, "NFS3ERR_BADHANDLE"},
		{"FSSTAT", func() error { return second(c.FSStat(ctx, gone)) }, "NFS3ERR_BADHANDLE"},
		{"FSINFO", func() error { return second(c.FSInfo(ctx, gone)) }, "NFS3ERR_BADHANDLE"},
		{"PATHCONF", func() error { return second(c.PathConf(ctx, gone)) }, "NFS3ERR_BADHANDLE"},
		{"COMMIT", func() error { return second(c.Commit(ctx, gone, 0, 0)) }, "NFS3ERR_BADHANDLE"},
		{"MNT /none", func() error { return second(c.Mount(ctx, "/none")) }, "MNT3ERR_NOENT"},
		{"UMNT", func() error { return nfsclient.Unmount(ctx, tr, oncrpc.AuthNone(), "/") }, ""},
		{"UMNTALL", func() error { return nfsclient.UnmountAll(ctx, tr, oncrpc.AuthNone()) }, ""},
		{"EXPORT", func() error { return second(nfsclient.Exports(ctx, tr, oncrpc.AuthNone())) }, ""},
		{"DUMP", func() error { return second(nfsclient.Dump(ctx, tr, oncrpc.AuthNone())) }, ""},
	}
	for _, tt := range tests {
		err := tt.call()
		var e *nfsclient.Error
		switch {
		case tt.want == "":
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		case !errors.As(err, &e) || !e.Repeated || err.Error() != "nfs: "+tt.name+": "+tt.want:
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	if len(tr.refused) > 0 || tr.calls != len(tests) {
		t.Errorf("%d calls, not to be repeated: %v", tr.calls, tr.refused)
	}
}

// TestRepeatReadDir: the same for READDIR instead of READDIRPLUS.
func TestRepeatReadDir(t *testing.T) {
	tr := &again{Conn: pipe.New(withoutReadDirPlus(t, 0), pipe.Inline)}
	c, root := mounted(t, tr)
	if err := list(t.Context(), c, root); err != nil {
		t.Error(err)
	}
	if tr.calls != 3 || len(tr.refused) > 0 {
		t.Errorf("%d calls, want MNT, READDIRPLUS and READDIR; not to be repeated: %v", tr.calls, tr.refused)
	}
}

// TestNotRepeated: if the transport repeats nothing, the error does not say so.
func TestNotRepeated(t *testing.T) {
	c, root := mounted(t, pipe.New(server(t), pipe.Inline))
	err := c.Remove(t.Context(), root, "x")
	var e *nfsclient.Error
	if !errors.As(err, &e) || e.Repeated || err.Error() != "nfs: REMOVE x: NFS3ERR_NOENT" {
		t.Errorf("got %v, want NFS3ERR_NOENT", err)
	}
	if _, err := c.Mount(t.Context(), "/none"); !errors.As(err, &e) || e.Repeated || e.Err != error(mount3.ErrNoEnt) {
		t.Errorf("got %v, want MNT3ERR_NOENT", err)
	}
}

func second[T any](_ T, err error) error { return err }

// list reads a directory and returns the error, if there is one.
func list(ctx context.Context, c *nfsclient.Client, dir nfs3.FH) error {
	for _, err := range c.ReadDir(ctx, dir) {
		if err != nil {
			return err
		}
	}
	return nil
}
