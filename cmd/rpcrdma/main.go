// Command rpcrdma is ONC RPC over RDMA on the command line.
package main

import (
	"os"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

func main() { command(cli.RepeatTime) }

// command runs the command line of this process, and ends it.
func command(repeat time.Duration) {
	os.Exit(run(cli.UntilSignal(repeat), os.Args[1:], os.Stdout, os.Stderr))
}
