//go:build interop

package linux

import (
	"context"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// find finds the root of an export in all ways. The guest's ports are forwarded to other numbers
// here.
func (k *knfsd) find(t *testing.T) {
	conn := k.dial(t, rpcrdma.Config{})
	for _, tt := range []struct {
		name string
		port int
		gone int // nothing answers there
		want []int
	}{
		{"the port that is given", mountPort, 0, []int{mountPort}},
		{"rpcbind, as the server itself has no MOUNT", 0, 0, []int{bindPort, mountPort}},
		{"its own port, as there is no rpcbind", 0, bindPort, []int{bindPort, mountPort}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var mu sync.Mutex // guards asked
			asked := make(map[int]bool)
			dial := func(ctx context.Context, addr string) (oncrpc.Transport, error) {
				_, p, err := net.SplitHostPort(addr)
				if err != nil {
					return nil, err
				}
				guest, err := strconv.Atoi(p)
				if err != nil {
					return nil, err
				}
				mu.Lock()
				asked[guest] = true
				mu.Unlock()
				here := map[int]int{mountPort: k.Mount, bindPort: k.Bind}[guest]
				if guest == tt.gone {
					here = freePort(t)
				}
				return recordmark.Dial(ctx, local(here), recordmark.Config{EnforceMaxReply: true})
			}
			got, err := nfsmount.Mount(t.Context(), conn, open+"/users/team", nfsmount.Config{Host: "127.0.0.1", Port: tt.port, Flavor: user(t, 0), Dial: dial})
			if err != nil {
				t.Fatal(err)
			}
			if want := k.root(t, open); got.Handle != want || got.Export != open || got.Rest != "users/team" {
				t.Errorf("%+v, want %v", got, want)
			}
			for _, port := range tt.want {
				if !asked[port] {
					t.Errorf("port %d was not asked; those that were: %v", port, asked)
				}
			}
			if len(asked) != len(tt.want) {
				t.Errorf("asked: %v, want %v", asked, tt.want)
			}
			if err := got.Unmount(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
