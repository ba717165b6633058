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

// ServeChild is [Serve] for a process that [Options].Command has started. It writes its address to
// out, followed by a newline. It serves until in ends, which happens when the parent process ends.
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

// startChild starts a server process and waits for its address. Ending ctx later does not stop the
// process.
func startChild(ctx context.Context, command []string, cpus []int) (_ *host.Child, addr string, err error) {
	p := host.Program{Path: command[0], Args: command[1:], CPUs: cpus}
	c, err := p.Start(context.WithoutCancel(ctx))
	if err != nil {
		return nil, "", fmt.Errorf("bench: starting a server: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { c.In.Close() })
	line, err := bufio.NewReader(c.Out).ReadString('\n')
	if !stop() || err != nil {
		return nil, "", errors.Join(ctx.Err(),
			fmt.Errorf("bench: the server did not print its address: %w", err), c.Stop(host.Grace))
	}
	return c, strings.TrimSpace(line), nil
}
