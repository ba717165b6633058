package served

import (
	"net/netip"
	"strings"
	"testing"
)

// Gateway is the command rpcrdma gateway.
type Gateway struct {
	Port int // over TCP, on 127.0.0.1

	*process
}

// StartGateway starts a gateway with options, on a port that it chooses. It ends with the test at
// the latest. If the test fails, its log is shown.
func StartGateway(t *testing.T, command string, options ...string) *Gateway {
	t.Helper()
	g := &Gateway{process: newProcess(t, "gateway")}
	g.start(func(line string) bool {
		_, addr, _ := strings.Cut(line, " on ")
		ap, err := netip.ParseAddrPort(addr)
		g.Port = int(ap.Port())
		return err == nil
	}, append([]string{command, "gateway", "--listen", "127.0.0.1:0"}, options...)...)
	return g
}
