//go:build interop

package rpcbind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// What an rpcbind leaves behind, its warm start state among it.
var leftovers = []string{"/run/rpcbind.sock", "/run/rpcbind.lock", "/run/rpcbind/rpcbind.xdr", "/run/rpcbind/portmap.xdr"}

// daemon is an rpcbind of ours.
type daemon struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	ended  chan error
}

// start starts rpcbind and waits until it answers.
func start() (*daemon, error) {
	d := &daemon{cmd: exec.Command(find("rpcbind"), "-w", "-f"), ended: make(chan error, 1)}
	d.cmd.Stderr = &d.stderr
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { d.ended <- d.cmd.Wait() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	patience := time.After(10 * time.Second)
	for !answers() {
		select {
		case <-tick.C:
		case err := <-d.ended:
			return nil, fmt.Errorf("rpcbind has ended: %v\n%s", err, &d.stderr)
		case <-patience:
			return nil, errors.Join(errors.New("rpcbind does not answer"), d.stop())
		}
	}
	return d, nil
}

// stop ends rpcbind, which saves its state.
func (d *daemon) stop() error {
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-d.ended:
	case <-time.After(10 * time.Second):
		d.cmd.Process.Kill()
		<-d.ended
	}
	return nil
}

// answers reports whether an rpcbind is running.
func answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := rpcbind.Local(ctx)
	if err != nil {
		return false
	}
	defer c.Close()
	_, err = c.Dump(ctx)
	return err == nil
}

// setAside moves away what an earlier rpcbind has left, and returns what puts it back in place of what has been left since.
func setAside() (restore func(), err error) {
	const aside = ".aside"
	for _, name := range leftovers {
		if err := os.Rename(name, name+aside); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return func() {
		for _, name := range leftovers {
			os.Remove(name)
			os.Rename(name+aside, name)
		}
	}, nil
}

// find returns the path of a command of the package rpcbind, which is not in everybody's PATH.
func find(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return filepath.Join("/usr/sbin", name)
}
