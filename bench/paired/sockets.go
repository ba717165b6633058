package paired

import (
	"github.com/rpcrdma/go-rpcrdma/bench/env"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// Sockets says how the sockets of a scenario are set up: those of the yardstick and of
// the candidate alike.
type Sockets = host.Sockets

// Usage is what a process has used.
type Usage = host.Usage

// Options says how to compare.
type Options = env.Options
