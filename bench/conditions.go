package bench

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// conditions says what has to be known to read the figures.
func (r *runner) conditions() []string {
	of := func(s string) string { return cmp.Or(s, "that of the system") }
	cpus := func(list []int, n int) string {
		if len(list) == 0 {
			return fmt.Sprintf("on any of %d CPUs", n)
		}
		return "on CPU " + host.FormatCPUs(list)
	}
	all := []string{
		fmt.Sprintf("client: %s, %s; server: %s, %s", system(), cpus(r.o.ClientCPUs, runtime.GOMAXPROCS(0)),
			r.info.System, cpus(r.o.ServerCPUs, int(r.info.CPUs))),
		fmt.Sprintf("TCP congestion control: client %s, server %s", of(r.o.Sockets.Congestion), of(r.info.Congestion)),
		"the yardstick of loopback is a copy in memory, that of all other paths raw TCP",
		fmt.Sprintf("inline sizes: %d bytes for what goes inline, 4096 with read and write chunks, %d with position-zero calls and reply chunks",
			rpcrdma.MaxInline, rpcrdma.DefaultInline),
		fmt.Sprintf("padded calls: in the draft's dialect alone, aligned to %d bytes and used where they land; other payload of calls is copied or read to such a place",
			program.Page),
	}
	return all
}
