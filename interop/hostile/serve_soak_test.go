//go:build soak && linux

package hostile_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// The limits of the command.
const (
	// forRDMA and forTCP are the sums of the limits of each port, in bytes.
	forRDMA = (512 + 256) * mebi // ServerMemory and ReceiveMemory of rpcrdma.Config
	forTCP  = 512 * mebi         // Memory of recordmark.Config
	forSCTP = 64 * mebi          // Memory of sctp.Config, beside that for RDMA
	// each is the additional memory of a connection, in bytes: goroutines and buffers.
	each = 64 << 10
	// maxConns is the most connections at a time (MaxConns of oncrpc.ServerConfig).
	maxConns = 1024
	// maxPending is how many more may be in their startup (package iwarp).
	maxPending = 256
)

// promised returns the promise that follows from the limits under attack.
func (a *attack) promised(w way) promise {
	p := promise{program + files + each*min(scale*a.conns, maxConns), maxConns + maxPending + 50}
	switch w {
	case byTCP, byTLS:
		p.memory += forTCP
	case bySCTP:
		p.memory += forRDMA + forSCTP
	case byIWARP, byRoCE:
		p.memory += forRDMA
	}
	return p
}

// TestServe attacks the command over sockets, by each way of each attack, with its default limits.
// Meanwhile the bystanders' calls are answered, and the process stays within the memory that its
// limits promise.
func TestServe(t *testing.T) {
	command, err := served.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range attacks { // but for those that need handlers which the command does not have
		if a.handlers > 0 || !a.memory && !*printFigures || raced && i%3 > 0 {
			continue
		}
		for _, w := range a.over {
			t.Run(a.name+"/"+w.String(), func(t *testing.T) {
				a.onServe(t, command, w, a.promised(w), "")
			})
		}
	}
}
