package transporttest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// TestDialerFirst: the failure of a Factory that lacks DialerFirst names the field. The suite fails
// in a process of its own. It runs over iWARP in the client-server model, where the dialing end
// sends first.
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
	transporttest.SetPatience(time.Second)
	transporttest.Run(t, transporttest.Factory{
		New: func(tb testing.TB, _ transporttest.Options) (transport.Listener, transport.Dialer, string) {
			tb.Helper()
			l, err := iwarp.Listen(tb.Context(), "127.0.0.1:0", iwarp.Config{})
			if err != nil {
				tb.Fatal(err)
			}
			return l, iwarp.Dialer{}, l.Addr().String()
		},
	})
}
