package nfsclient_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// TestMountProgram: the exports, and the list of mounts as it grows and shrinks.
func TestMountProgram(t *testing.T) {
	for name, connect := range transports {
		t.Run(name, func(t *testing.T) {
			ctx, cred := t.Context(), oncrpc.AuthNone()
			conn := connect(t, server(t))
			exports, err := nfsclient.Exports(ctx, conn, cred)
			if diff := cmp.Diff([]mount3.Export{{Path: "/"}}, exports); err != nil || diff != "" {
				t.Errorf("exports: %v (-want +got)\n%s", err, diff)
			}
			dumped := func(want ...string) {
				t.Helper()
				var got []string
				list, err := nfsclient.Dump(ctx, conn, cred)
				for _, m := range list {
					if m.Host == "" {
						t.Errorf("%+v", m)
					}
					got = append(got, m.Path)
				}
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("mounts: %v (-want +got)\n%s", err, diff)
				}
			}
			dumped()
			c, root := mounted(t, conn)
			must(c.Mkdir(ctx, root, "dir", nfs3.Sattr{}))(t)
			must(c.Mount(ctx, "/dir"))(t)
			dumped("/", "/dir")
			if err := nfsclient.Unmount(ctx, conn, cred, "/"); err != nil {
				t.Error(err)
			}
			dumped("/dir")
			if err := nfsclient.UnmountAll(ctx, conn, cred); err != nil {
				t.Error(err)
			}
			dumped()
		})
	}
}

// TestMountProgramErrors: errors name the procedure.
func TestMountProgramErrors(t *testing.T) {
	conn := pipe.New(serving(t), pipe.Inline) // without the program
	ctx, cred := context.Background(), oncrpc.AuthNone()
	_, mnt := nfsclient.Mount(ctx, conn, cred, "/x")
	_, exports := nfsclient.Exports(ctx, conn, cred)
	_, dump := nfsclient.Dump(ctx, conn, cred)
	for op, err := range map[string]error{
		"MNT": mnt, "EXPORT": exports, "DUMP": dump,
		"UMNT": nfsclient.Unmount(ctx, conn, cred, "/x"), "UMNTALL": nfsclient.UnmountAll(ctx, conn, cred),
	} {
		var e *nfsclient.Error
		var accept *oncrpc.AcceptError
		if !errors.As(err, &e) || e.Op != op || !errors.As(err, &accept) || accept.Stat != oncrpc.ProgUnavail {
			t.Errorf("%s: %v", op, err)
		}
	}
}
