// Command rpcrdma is ONC RPC over RDMA on the command line.
package main

import (
	"os"
	"time"
)

func main() { command(repeatTime) }

// command runs the command line of this process, and ends it.
func command(repeat time.Duration) {
	os.Exit(run(untilSignal(repeat), os.Args[1:], os.Stdout, os.Stderr))
}
