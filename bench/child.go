package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// grace is what a server's process gets to end by itself.
const grace = 5 * time.Second

// child is a server in a process of its own.
type child struct {
	addr   string
	cmd    *exec.Cmd
	in     io.WriteCloser // a child ends when its input does
	stderr host.Tail
}

// ServeChild is Serve for a process that Options.Command has started: it writes its address to out, a line, and serves until in ends, which is when
// the other process does.
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

// startChild starts a server's process, and waits for its address.
func startChild(ctx context.Context, command []string, cpus []int) (_ *child, err error) {
	c := &child{cmd: exec.Command(command[0], command[1:]...)}
	c.cmd.Stderr = &c.stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.cmd.WaitDelay = grace
	if len(cpus) == 0 {
		err = c.cmd.Start()
	} else {
		err = host.StartPinned(c.cmd, cpus...)
	}
	if err != nil {
		return nil, fmt.Errorf("bench: starting a server: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { c.in.Close() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if !stop() || err != nil {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("bench: the server has told no address: %w", err), c.stop(grace))
	}
	c.addr = strings.TrimSpace(line)
	return c, nil
}

// stop ends the process, by force when patience is over, and waits for it. It fails with what the process said last when it did not end well.
func (c *child) stop(patience time.Duration) error {
	c.in.Close()
	kill := time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	err := c.cmd.Wait()
	if err == nil {
		return nil
	}
	if said := strings.TrimSpace(c.stderr.String()); said != "" {
		return fmt.Errorf("%w\n%s", err, said)
	}
	return err
}
