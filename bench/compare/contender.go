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
	// missing says what is needed but not installed; nil means nothing. It may leave files in dir
	// until the end of the comparisons.
	missing func(dir string) error
}

// contenders has all contenders. A "+" joins a server and a client of different projects.
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

// scenario returns the contender's scenario for w.
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

// both returns a function that reports what is missing for either.
func both(a, b func(dir string) error) func(dir string) error {
	return func(dir string) error {
		if err := a(dir); err != nil {
			return err
		}
		return b(dir)
	}
}
