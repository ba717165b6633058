package bench

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// conditions lists what a reader has to know about the figures.
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
		fmt.Sprintf("inline sizes: %d bytes for what goes inline, 4096 with read and write chunks, "+
			"%d with position-zero calls and reply chunks",
			rpcrdma.MaxInline, rpcrdma.DefaultInline),
		fmt.Sprintf("padded calls: only in the draft's dialect; aligned to %d bytes, so the server uses them "+
			"where they arrive. It copies or reads other payload of calls to an aligned place",
			program.Page),
	}
	return all
}
