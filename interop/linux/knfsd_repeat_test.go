//go:build interop

package linux

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// cutChanges resets connections when the reply to a change arrives that cannot be made twice. The
// server has cached the reply by XID and host, so a client on another port still gets it.
func (k *knfsd) cutChanges(t *testing.T) {
	p := newGuestProxy(t, k.RDMA, fromServer, 5_000, 10_000, 15_000, 20_000)
	conn, err := redial.New(t.Context(), func(ctx context.Context) (oncrpc.Transport, error) {
		c, err := rpcrdma.Dial(ctx, iwarp.Dialer{}, local(p.port()), rpcrdma.Config{})
		if err != nil {
			return nil, err
		}
		return c, nil
	}, redial.Config{Wait: silence, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		conn.Close()
		<-conn.Done()
	}()
	kept := k.repliesKept(t)
	c, root := nfsclient.New(conn, user(t, 0)), k.root(t, open)
	done := false
	for i := 0; !done; i++ {
		name := fmt.Sprintf("change-%d", i)
		if _, err := c.Mkdir(t.Context(), root, name, nfs3.Sattr{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Rename(t.Context(), root, name, root, name+"-renamed"); err != nil {
			t.Fatal(err)
		}
		if err := c.Rmdir(t.Context(), root, name+"-renamed"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.done:
			done = true
		default:
		}
	}
	if got := k.repliesKept(t) - kept; got < 1 {
		t.Errorf("%d replies came out of the server's cache, want one for each that was lost", got)
	} else {
		t.Logf("%d replies came out of the server's cache", got)
	}
}
