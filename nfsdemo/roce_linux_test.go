package nfsdemo

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/rocerig"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

func init() {
	providers["roce"] = func(tb testing.TB) (transport.Listener, transport.Dialer, func()) {
		l, d := rocerig.Listen(tb, roce.Config{})
		return l, d, func() {}
	}
}
