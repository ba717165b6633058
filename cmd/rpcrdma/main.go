// Command rpcrdma serves files by NFS over RDMA and TCP, and reads and writes files of such
// servers.
package main

import (
	"os"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

func main() { command(cli.RepeatTime) }

// command runs the command line of this process, and exits.
func command(repeat time.Duration) {
	os.Exit(run(cli.UntilSignal(repeat), os.Args[1:], os.Stdout, os.Stderr))
}
