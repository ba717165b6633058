// Package portmapper runs Debian's rpcbind, for tests in which other clients look up our servers.
// It needs root and the package rpcbind.
package portmapper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// limit is how long rpcbind may take to start or stop.
const limit = 10 * time.Second

// portLimit is how long the port may be in use. A client that picked it as its local port keeps it
// in TIME_WAIT for a minute.
const portLimit = 2 * time.Minute

// port is where clients look for rpcbind.
const port = "127.0.0.1:111"

// Daemon is an rpcbind that Use has started.
type Daemon struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	ended  chan struct{} // closed when rpcbind has ended; err is then set
	err    error
}

// Use makes sure that rpcbind runs and answers at its port. If none runs, it sets aside the state
// that an earlier one has left, and starts one. done then stops it and restores that state. If one
// is running already, d is nil.
func Use() (d *Daemon, done func() error, err error) {
	if answers(atPort) {
		return nil, func() error { return nil }, nil
	}
	restore, err := setAside()
	if err != nil {
		return nil, nil, err
	}
	d = new(Daemon)
	if err := d.start(); err != nil {
		restore()
		return nil, nil, fmt.Errorf("cannot start rpcbind: %w", err)
	}
	return d, func() error {
		defer restore()
		return d.stop()
	}, nil
}

// Restart stops rpcbind, which saves its state, and starts it again.
func (d *Daemon) Restart() error {
	if err := d.stop(); err != nil {
		return err
	}
	return d.start()
}

// start starts rpcbind and waits until it answers. An rpcbind whose port is taken goes on without
// it, so it is started again.
func (d *Daemon) start() error {
	patience := time.After(portLimit)
	for {
		err := d.startOnce()
		if !errors.Is(err, errPortTaken) {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-patience:
			return err
		}
	}
}

// errPortTaken means that rpcbind answers at its Unix socket only.
var errPortTaken = errors.New("something else has TCP port 111; ss -tanp sport = 111 says what")

func (d *Daemon) startOnce() error {
	d.cmd, d.ended = exec.Command(Find("rpcbind"), "-w", "-f"), make(chan struct{})
	d.cmd.Stderr = &d.stderr
	if err := d.cmd.Start(); err != nil {
		return err
	}
	go func() {
		d.err = d.cmd.Wait()
		close(d.ended)
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	patience := time.After(limit)
	for !answers(rpcbind.DialLocal) {
		select {
		case <-tick.C:
		case <-d.ended:
			return fmt.Errorf("rpcbind has ended: %v\n%s", d.err, &d.stderr)
		case <-patience:
			return errors.Join(errors.New("rpcbind does not answer"), d.stop())
		}
	}
	if !answers(atPort) { // once it answers, it has all its sockets
		return errors.Join(errPortTaken, d.stop())
	}
	return nil
}

// stop stops rpcbind, which saves its state.
func (d *Daemon) stop() error {
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-d.ended:
	case <-time.After(limit):
		_ = d.cmd.Process.Kill() // may have ended meanwhile
		<-d.ended
	}
	return nil
}

// answers reports whether an rpcbind answers where dial connects.
func answers(dial func(context.Context) (*rpcbind.Client, error)) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := dial(ctx)
	if err != nil {
		return false
	}
	defer c.Close()
	_, err = c.Dump(ctx)
	return err == nil
}

func atPort(ctx context.Context) (*rpcbind.Client, error) { return rpcbind.Dial(ctx, "tcp", port) }

// Find returns the path of a command of the package rpcbind, which may be in a directory outside
// PATH.
func Find(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return filepath.Join("/usr/sbin", name)
}
