package matrix

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/rocerig"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

func init() {
	of := providers[0]
	of.name, of.copies = "roce", false
	of.new = func(t testing.TB) (transport.Listener, transport.Dialer) { return rocerig.Listen(t, roce.Config{}) }
	providers = append(providers, of)
}
