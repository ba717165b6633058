package main

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// contender is a server with a client.
type contender struct {
	name   string
	listen func(ctx context.Context, s paired.Sockets, w workload) (paired.Server, error)
	dial   func(ctx context.Context, s paired.Sockets, addr string, w workload) (paired.Client, error)
	// missing says what it takes that is not there, after a look around for it. It may leave files
	// in a directory for as long as the comparison takes. nil means that nothing is missing.
	missing func(dir string) error
}

// contenders are those that there are. Those with a "+" are of two parties: server and client.
var contenders = []contender{
	{name: "ours", listen: listenIWARP, dial: calls(dialIWARP)},
	{name: "ours-crc", listen: listenIWARPWithCRC, dial: calls(dialIWARPWithCRC)},
	{name: "ours-tcp", listen: listenTCP, dial: calls(dialTCP)},
	{name: "go-nfs+vmware", listen: listenGoNFS, dial: calls(dialVMware)},
	{name: "go-nfs+willscott", listen: listenGoNFS, dial: calls(dialWillscott)},
	{name: "ganesha+libnfs", listen: listenGanesha, dial: dialLibnfs, missing: both(missingGanesha, missingLibnfs)},
	{name: "ganesha+ours", listen: listenGanesha, dial: calls(dialTCP), missing: missingGanesha},
	{name: "ours-tcp+libnfs", listen: listenTCP, dial: dialLibnfs, missing: missingLibnfs},
}

func find(name string) (contender, bool) {
	for _, c := range contenders {
		if c.name == name {
			return c, true
		}
	}
	return contender{}, false
}

// scenario is the contender's way to do w.
func (c contender) scenario(w workload) paired.Scenario {
	return paired.Scenario{
		Name:   c.name + "/" + w.String(),
		Metric: w.metric(),
		Bytes:  w.size,
		Listen: func(ctx context.Context, s paired.Sockets) (paired.Server, error) { return c.listen(ctx, s, w) },
		Dial: func(ctx context.Context, s paired.Sockets, addr string) (paired.Client, error) {
			return c.dial(ctx, s, addr, w)
		},
	}
}

func init() {
	for _, c := range contenders {
		for _, w := range workloads {
			paired.Register(c.scenario(w))
		}
	}
	for _, w := range []workload{read, reads} {
		paired.Register(paired.TCPRead(w.size, w.inFlight))
	}
	for _, w := range []workload{write, writes} {
		paired.Register(paired.TCPWrite(w.size, w.inFlight))
	}
}

// both is what either misses.
func both(a, b func(dir string) error) func(dir string) error {
	return func(dir string) error {
		if err := a(dir); err != nil {
			return err
		}
		return b(dir)
	}
}
