package words

import (
	"io/fs"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// TestReason: one reason, without the layers that wrapped the error.
func TestReason(t *testing.T) {
	call := func(err error) error { return &nfsclient.Error{Op: "GETATTR", Err: &oncrpc.CallError{Err: err}} }
	inPath := func(err error) error { return &fs.PathError{Op: "stat", Path: "a", Err: err} }
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"status", inPath(&nfsclient.Error{Op: "LOOKUP", Err: nfs3.ErrNoEnt}), "no such file or directory"},
		{"stale", inPath(&nfsclient.Error{Op: "READ", Err: nfs3.ErrStale}),
			"stale file handle: the file was removed, or the server has restarted and forgotten its handles (serve --state keeps them)"},
		{"unknown status", &nfsclient.Error{Op: "READ", Err: nfs3.Status(77)}, "the server says error 77"},
		{"connection over RDMA", call(&transport.OpError{Op: "receive", Err: transport.ErrClosedByPeer}), "the server has ended the connection"},
		{"connection over TCP", inPath(call(&recordmark.OpError{Op: "read", Err: recordmark.ErrClosedByPeer})), "the server has ended the connection"},
	} {
		if got := Reason(tt.err); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
