package paired

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// grace is what a child gets to end by itself.
const grace = 5 * time.Second

// process is a child as its coordinator sees it.
type process struct {
	role   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	answer *json.Decoder
	stderr host.Tail
	ended  bool // Wait has been called
}

// startProcess starts a child on one CPU, or on any when cpu is negative. It lives as
// long as ctx at the most.
func startProcess(ctx context.Context, role string, cpu int) (*process, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{role: role, cmd: exec.CommandContext(ctx, path)}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role)
	p.cmd.Stderr = &p.stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.answer = json.NewDecoder(out)
	p.cmd.Cancel = func() error { // a child ends when its input does
		p.in.Close()
		return nil
	}
	p.cmd.WaitDelay = grace
	if cpu < 0 {
		err = p.cmd.Start()
	} else {
		err = host.StartPinned(p.cmd, cpu)
	}
	if err != nil {
		return nil, fmt.Errorf("%s process: %w", role, err)
	}
	return p, nil
}

// do has the child carry out one command.
func (p *process) do(cmd command) (reply, error) {
	var r reply
	line, err := json.Marshal(cmd)
	if err != nil {
		return r, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return r, p.lost(cmd.Verb, err)
	}
	if err := p.answer.Decode(&r); err != nil {
		return r, p.lost(cmd.Verb, err)
	}
	if r.Error != "" {
		return r, fmt.Errorf("%s process: %s: %s", p.role, cmd.Verb, r.Error)
	}
	return r, nil
}

// lost describes the end of a child that ended too early.
func (p *process) lost(during verb, err error) error {
	if e := p.stop(); e != nil {
		err = e
	}
	return fmt.Errorf("%s process: lost during %s: %w", p.role, during, err)
}

// stop ends the child, if it has not ended, and waits for it. It fails with what the child said last when
// it did not end well.
func (p *process) stop() error {
	if p.ended {
		return nil
	}
	p.ended = true
	p.in.Close()
	kill := time.AfterFunc(grace, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	err := p.cmd.Wait()
	if err == nil {
		return nil
	}
	if said := strings.TrimSpace(p.stderr.String()); said != "" {
		return fmt.Errorf("%w\n%s", err, said)
	}
	return err
}
