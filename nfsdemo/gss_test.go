package nfsdemo

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/soak"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
)

// TestEverywhereWithGSS: every procedure of NFS and MOUNT gives the same results with RPCSEC_GSS,
// at each service, as with AUTH_SYS as the same user. The export accepts nothing else. Two RDMA
// providers, one that copies and one that does not, stand for all: to the flavour they are alike.
// Every transport has one service, and all services only in a soak.
func TestEverywhereWithGSS(t *testing.T) {
	transports := map[string]func(testing.TB, *oncrpc.Server) oncrpc.Transport{
		"tcp": overTCP, "gateway": overGateway,
	}
	for _, name := range []string{"loopback", "iwarp"} {
		p := providers[name]
		transports[name] = func(tb testing.TB, srv *oncrpc.Server) oncrpc.Transport {
			return p.connect(tb, srv)
		}
	}
	one := map[string]mount3.Flavor{
		"tcp": mount3.FlavorKrb5i, "gateway": mount3.FlavorKrb5,
		"loopback": mount3.FlavorKrb5p, "iwarp": mount3.FlavorKrb5i,
	}
	m := &gsstest.Mechanism{Secret: []byte("secret")}
	quiet := slog.New(slog.DiscardHandler)
	for name, connect := range transports {
		for _, f := range []mount3.Flavor{
			mount3.FlavorKrb5, mount3.FlavorKrb5i, mount3.FlavorKrb5p,
		} {
			if !soak.On && f != one[name] {
				continue
			}
			t.Run(name+"/"+f.String(), func(t *testing.T) {
				fs, err := memfs.New(memfs.Config{Capacity: 1 << 30})
				if err != nil {
					t.Fatal(err)
				}
				nfs, err := nfsserver.New(nfsserver.Config{
					GSS: true, Logger: quiet,
					User: func(context.Context, net.Addr, string) (*vfs.Cred, error) { return new(vfs.Cred), nil },
					Exports: []nfsserver.Export{{Path: "/", FS: fs, Rules: []nfsserver.Rule{{
						Squash: nfsserver.SquashNone, Flavors: []mount3.Flavor{f}}}}},
				})
				if err != nil {
					t.Fatal(err)
				}
				srv := oncrpc.NewServer(oncrpc.ServerConfig{Flavors: []oncrpc.ServerFlavor{
					gss.NewServerFlavor(gss.ServerConfig{Acceptor: m.Acceptor(), Logger: quiet})}})
				srv.Handle(nfs.Programs()...)
				conn := connect(t, srv)
				cred := gss.NewClientFlavor(gss.ClientConfig{
					Initiator: m.Initiator("root@TEST"), Target: "nfs@server", Service: f.Service()})
				s := &session{ctx: t.Context(), conn: conn, cred: cred,
					client: nfsclient.New(conn, cred), at: make(map[string]nfs3.FH)}
				for _, step := range steps {
					if got := told(step.do(s)); got != step.want {
						t.Errorf("%s\n got %s\nwant %s", step.name, got, step.want)
					}
				}
			})
		}
	}
}
