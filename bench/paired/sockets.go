package paired

import (
	"github.com/rpcrdma/go-rpcrdma/bench/env"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// Sockets says how the sockets of a scenario are set up: those of the yardstick and of
// the candidate alike.
type Sockets = host.Sockets

// Options says how to compare.
type Options = env.Options
