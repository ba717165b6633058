//go:build interop

package commands

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// TestAcross: a context made over TCP is valid over RDMA, and vice versa.
func TestAcross(t *testing.T) {
	r := newRealm(t)
	t.Setenv("KRB5_CONFIG", r.Conf())
	s := r.serve(t, "krb5p")
	initiator, err := krb5.NewInitiator(krb5.InitiatorConfig{Cache: r.cache("alice")})
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := recordmark.Dial(t.Context(), fmt.Sprintf("127.0.0.1:%d", s.TCP), recordmark.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	rdma, err := rpcrdma.Dial(t.Context(), iwarp.Dialer{}, fmt.Sprintf("127.0.0.1:%d", s.RDMA), rpcrdma.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer rdma.Close()
	for i, over := range [][]oncrpc.Transport{{tcp, rdma}, {rdma, tcp}} {
		f := gss.NewClientFlavor(gss.ClientConfig{Initiator: initiator, Target: "nfs@localhost", Service: gss.Privacy})
		for _, conn := range over {
			c := nfsclient.New(conn, f)
			root, err := c.Mount(t.Context(), "/export")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.FSStat(t.Context(), root); err != nil {
				t.Error(err)
			}
		}
		if n := value(t, metrics(t, s), "rpcrdma_gss_contexts_made_total"); n != float64(i+1) {
			t.Errorf("%v contexts were made, want %d", n, i+1)
		}
	}
}
