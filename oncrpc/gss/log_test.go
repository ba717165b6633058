package gss_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
)

// The log contains each principal of each host that creates a context, once.
func TestContextsLog(t *testing.T) {
	m := secret(gsstest.Mechanism{})
	var log strings.Builder
	s, _ := newServer(t, gss.ServerConfig{
		Acceptor: m.Acceptor(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, by := range []struct {
		host      byte
		principal string
	}{{1, "alice@TEST"}, {1, "bob@TEST"}, {1, "alice@TEST"}, {2, "alice@TEST"}} {
		f := gss.NewClientFlavor(gss.ClientConfig{
			Initiator: m.Initiator(by.principal), Target: "test@server"})
		n := number(7)
		if err := newPeer(by.host, s).client(f).Call(t.Context(), 1, &n, &n); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"peer=192.0.2.1:700 principal=alice@TEST\n", "peer=192.0.2.1:700 principal=bob@TEST\n",
		"peer=192.0.2.2:700 principal=alice@TEST\n",
	} {
		if n := strings.Count(log.String(), `level=INFO msg="gss: context made" `+want); n != 1 {
			t.Errorf("%d times %q in\n%s", n, want, &log)
		}
	}
}
