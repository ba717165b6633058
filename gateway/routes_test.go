package gateway

import (
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// MOUNT goes elsewhere: always, or when the server has not got it.
func TestRoutes(t *testing.T) {
	nfs := nfsServer(t)
	whole := overRDMA(t, nfs, rpcrdma.Config{})
	without := overRDMA(t, oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet}), rpcrdma.Config{})
	mounts := overTCP(t, nfs, recordmark.Config{})
	dialMounts := func(ctx context.Context) (oncrpc.Transport, error) {
		return recordmark.Dial(ctx, mounts, recordmark.Config{EnforceMaxReply: true, Logger: quiet})
	}
	for _, tt := range []struct {
		name        string
		server      DialFunc
		unavailable bool
		want        []bool // that each of the calls went to the server first
	}{
		{"always", whole, false, []bool{false, false}},
		{"the server has it", whole, true, []bool{true, true}},
		{"the server has not got it", without, true, []bool{true, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := &recorder{dial: tt.server}
			g := start(t, Config{Dial: rec.Dial, Routes: map[uint32]Route{mount3.Program: {dialMounts, tt.unavailable}}}, recordmark.Config{})
			for i, want := range tt.want {
				conn := dialTCP(t, g.addr)
				_, before := rec.last()
				exports, err := nfsclient.Exports(limited(t), conn, rootFlavor(t))
				if err != nil || len(exports) != 1 || exports[0].Path != "/" {
					t.Errorf("call %d: got exports %v, %v", i, exports, err)
				}
				_, after := rec.last()
				if got := len(after) > len(before); got != want {
					t.Errorf("call %d: went to the server %v, want %v", i, got, want)
				}
			}
		})
	}
}
