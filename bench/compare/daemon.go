package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// daemon is another project's server. It runs on the CPUs of the process that starts it.
type daemon struct {
	*host.Child
	ended chan struct{} // closed when the daemon has ended
}

// startDaemon starts a command, and returns when it accepts connections at addr.
func startDaemon(addr, name string, args ...string) (*daemon, error) {
	c, err := host.Program{Path: name, Args: args}.Start(context.Background())
	if err != nil {
		return nil, err
	}
	d := &daemon{c, make(chan struct{})}
	go func() {
		_, _ = io.Copy(io.Discard, c.Out) // returns when it ends
		close(d.ended)
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	patience := time.After(startLimit)
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return d, c.Close()
		}
		select {
		case <-tick.C:
		case <-d.ended:
			return nil, fmt.Errorf("%s has ended: %v", name, d.Stop(startLimit))
		case <-patience:
			return nil, errors.Join(fmt.Errorf("%s does not accept connections: %w", name, err), d.stop())
		}
	}
}

// stop stops the daemon by signals, because it does not read its input.
func (d *daemon) stop() error {
	select {
	case <-d.ended:
		return fmt.Errorf("%s had ended before: %v", d.Cmd.Path, d.Stop(startLimit))
	default:
	}
	if err := d.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	_ = d.Stop(startLimit) // its exit status does not matter
	return nil
}
