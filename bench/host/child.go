package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Grace is the patience that a child deserves: what it gets to end by itself.
const Grace = 5 * time.Second

// roleVariable is the environment variable that tells a child its role.
const roleVariable = "BENCH_CHILD"

// Role returns the Role of the Program that this process was started as; none if it is no child.
func Role() string { return os.Getenv(roleVariable) }

// Program is what to start, and where.
type Program struct {
	Path string // empty: the executable of this process
	Args []string
	Role string // what Role tells the child
	CPUs []int  // that it is pinned to; none means any
}

// Child is a process that was started. It is expected to end when its standard input does, so that
// none outlives the process that has started it.
type Child struct {
	In  io.WriteCloser
	Out io.Reader
	Cmd *exec.Cmd // which Start has started, and Stop waits for

	stderr Tail
	ended  bool // Stop has been called
}

// Start starts p. When ctx ends, so does the child's input, and after Grace the child.
func (p Program) Start(ctx context.Context) (*Child, error) {
	if p.Path == "" {
		var err error
		if p.Path, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	c := &Child{Cmd: exec.CommandContext(ctx, p.Path, p.Args...)}
	c.Cmd.Env = append(os.Environ(), roleVariable+"="+p.Role)
	c.Cmd.Stderr = &c.stderr
	var err error
	if c.In, err = c.Cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.Out, err = c.Cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	c.Cmd.Cancel = func() error {
		c.In.Close()
		return nil
	}
	c.Cmd.WaitDelay = Grace
	if len(p.CPUs) == 0 {
		return c, c.Cmd.Start()
	}
	return c, startPinned(c.Cmd, p.CPUs...)
}

// CPU returns the user and system time that the child has used, until it has been waited for; 0
// where the system does not tell.
func (c *Child) CPU() time.Duration { return processCPU(c.Cmd.Process.Pid) }

// Stop ends the input of the child and waits for its end, which it forces when patience is over. It
// fails with what the child said last if that has not ended well. A second call does nothing.
func (c *Child) Stop(patience time.Duration) error {
	if c.ended {
		return nil
	}
	c.ended = true
	c.In.Close()
	kill := time.AfterFunc(patience, func() { _ = c.Cmd.Process.Kill() })
	defer kill.Stop()
	err := c.Cmd.Wait()
	if err == nil {
		return nil
	}
	if said := strings.TrimSpace(c.stderr.String()); said != "" {
		return fmt.Errorf("%w\n%s", err, said)
	}
	return err
}
