package paired

import (
	"github.com/rpcrdma/go-rpcrdma/bench/env"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// Sockets says how to set up the sockets of the yardstick and of the candidate.
type Sockets = host.Sockets

// Usage is the CPU time and memory that a process has used.
type Usage = host.Usage

// Options says how to compare.
type Options = env.Options
