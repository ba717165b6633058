package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// ServeChild is Serve for a process that Options.Command has started: it writes its address to out,
// a line, and serves until in ends, which is when the other process does.
func ServeChild(ctx context.Context, o ServerOptions, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	return Serve(ctx, o, func(addr string) {
		if _, err := fmt.Fprintln(out, addr); err != nil {
			cancel()
		}
	})
}

// startChild starts a server's process, and waits for its address. From then on it lives until it
// is stopped.
func startChild(ctx context.Context, command []string, cpus []int) (_ *host.Child, addr string, err error) {
	p := host.Program{Path: command[0], Args: command[1:], CPUs: cpus}
	c, err := p.Start(context.WithoutCancel(ctx))
	if err != nil {
		return nil, "", fmt.Errorf("bench: starting a server: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { c.In.Close() })
	line, err := bufio.NewReader(c.Out).ReadString('\n')
	if !stop() || err != nil {
		return nil, "", errors.Join(ctx.Err(), fmt.Errorf("bench: the server has told no address: %w", err), c.Stop(host.Grace))
	}
	return c, strings.TrimSpace(line), nil
}
