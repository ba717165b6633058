package paired

import (
	"runtime"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// Usage is what a process has used, or used between two moments.
type Usage struct {
	CPU     time.Duration // user and system time; 0 where the system does not tell
	Mallocs uint64        // heap allocations
}

// used returns what this process has used so far.
func used() Usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Usage{CPU: host.CPUTime(), Mallocs: m.Mallocs}
}

// since returns what was used from before until u.
func (u Usage) since(before Usage) Usage {
	return Usage{CPU: u.CPU - before.CPU, Mallocs: u.Mallocs - before.Mallocs}
}
