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

// Grace is how long a child may take to end by itself.
const Grace = 5 * time.Second

// roleVariable is the environment variable that tells a child its role.
const roleVariable = "BENCH_CHILD"

// Role returns the Role of the Program that started this process; "" if it is not a child.
func Role() string { return os.Getenv(roleVariable) }

// Program says which program to start, and where.
type Program struct {
	Path string // empty: the executable of this process
	Args []string
	Role string // what Role returns in the child
	CPUs []int  // pins the child; empty means any CPU
}

// Child is a process that was started. It should end when its standard input ends, so that it does
// not outlive its parent.
type Child struct {
	In  io.WriteCloser
	Out io.Reader
	Cmd *exec.Cmd // Start has started it, Stop waits for it

	stderr Tail
	ended  bool // Stop has been called
}

// Start starts p. When ctx ends, the child's input ends. After Grace the child is killed.
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

// CPU returns the user and system time that the child has used, until Stop. It returns 0 if the
// system does not report it.
func (c *Child) CPU() time.Duration { return processCPU(c.Cmd.Process.Pid) }

// Stop closes the child's input and waits until it ends. It kills the child when patience is over.
// If the child fails, the error has the end of its standard error. A second call does nothing.
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
