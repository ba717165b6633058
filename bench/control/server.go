package control

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// New returns the program. It returns info, and what this process has used, with the number of
// connections of srv.
func New(info Info, srv *oncrpc.Server) oncrpc.Program {
	meter := new(host.Meter)
	return oncrpc.Program{Name: "bench control", Number: Number, Version: Version, Procedures: []oncrpc.Procedure{
		procInfo: {Name: "INFO", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			info.MarshalXDR(c.Results)
			return c.Args.Finish()
		}},
		procUsage: {Name: "USAGE", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			u := usage(meter.UsedBusy())
			u.Conns = srv.Stats().Conns - 1
			u.MarshalXDR(c.Results)
			return c.Args.Finish()
		}},
	}}
}
