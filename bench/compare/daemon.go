package main

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// daemon is a server of others. It runs on the CPUs of the process that starts it.
type daemon struct {
	cmd    *exec.Cmd
	stderr host.Tail
	ended  chan struct{} // closed when it has
}

// startDaemon starts a command, and returns when it accepts connections at addr.
func startDaemon(addr, name string, args ...string) (*daemon, error) {
	d := &daemon{cmd: exec.Command(name, args...), ended: make(chan struct{})}
	d.cmd.Stderr = &d.stderr
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = d.cmd.Wait() // who cares finds it ended
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
			return nil, fmt.Errorf("%s has ended: %s", name, &d.stderr)
		case <-patience:
			return nil, errors.Join(fmt.Errorf("%s does not accept connections: %w", name, err), d.stop())
		}
	}
}

// CPU is what it has used.
func (d *daemon) CPU() time.Duration { return processCPU(d.cmd.Process.Pid) }

// stop ends it, one way or another.
func (d *daemon) stop() error {
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("%s had ended before: %s", d.cmd.Path, &d.stderr)
	}
	select {
	case <-d.ended:
	case <-time.After(startLimit):
		_ = d.cmd.Process.Kill() // it may have ended meanwhile
		<-d.ended
	}
	return nil
}
