package transporttest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// TestDialerFirst: the failure of a Factory that lacks DialerFirst names the field. The suite fails
// in a process of its own, which waits in virtual time. It runs over iWARP in the client-server
// model, where the dialing end sends first.
func TestDialerFirst(t *testing.T) {
	const inChild = "TRANSPORTTEST_CHILD"
	if os.Getenv(inChild) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0],
			"-test.run=^TestDialerFirst$/^send$/^sizes$/^listener$")
		cmd.Env = append(os.Environ(), inChild+"=1")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "set Factory.DialerFirst): waited") {
			t.Errorf("error %v, and the output names no DialerFirst:\n%s", err, out)
		}
		return
	}
	cfg := iwarp.Config{NudgeAfter: -1}
	transporttest.Run(t, transporttest.Factory{
		New: func(tb testing.TB, _ transporttest.Options) (transport.Listener, transport.Dialer, string) {
			tb.Helper()
			network := faultnet.NewMemory(faultnet.Config{})
			below, err := network.Listen("10.0.0.1:20049")
			if err != nil {
				tb.Fatal(err)
			}
			l, err := iwarp.NewListener(below, cfg)
			if err != nil {
				tb.Fatal(err)
			}
			d := iwarp.Dialer{Config: cfg, DialContext: network.Dialer("10.0.0.2")}
			return l, d, l.Addr().String()
		},
		Bubble: true,
	})
}
