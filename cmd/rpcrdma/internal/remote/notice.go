package remote

import (
	"fmt"
	"io"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// notices tell the user how a server is while a command waits for it.
type notices struct {
	out  io.Writer
	from string        // the URL of the server
	wait time.Duration // how long calls wait

	up   bool // there has been a connection
	down bool // and since then an attempt that failed, of which the user knows
}

// failed notes an attempt to connect.
func (n *notices) failed(err error) {
	if n.up && !n.down && n.wait > 0 {
		n.down = true
		fmt.Fprintf(n.out, "rpcrdma: %s does not respond; waiting for up to %v: %s\n", n.from, n.wait, cli.Cut(err.Error()))
	}
}

// connected notes one that worked.
func (n *notices) connected() {
	n.up = true
	if n.down {
		n.down = false
		fmt.Fprintf(n.out, "rpcrdma: %s is back\n", n.from)
	}
}
