package paired

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// process is the coordinator's view of a child.
type process interface {
	do(command) (reply, error)
	Stop(patience time.Duration) error
}

// otherProcess is a child in a process of its own.
type otherProcess struct {
	*host.Child
	role   string
	answer *json.Decoder
}

// startProcess starts a child on the given CPUs, or on any if there are none. It ends with ctx at
// the latest.
func startProcess(ctx context.Context, role string, cpus ...int) (*otherProcess, error) {
	c, err := host.Program{Role: role, CPUs: cpus}.Start(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s process: %w", role, err)
	}
	return &otherProcess{Child: c, role: role, answer: json.NewDecoder(c.Out)}, nil
}

// do makes the child carry out one command.
func (p *otherProcess) do(cmd command) (reply, error) {
	var r reply
	line, err := json.Marshal(cmd)
	if err != nil {
		return r, err
	}
	if _, err := p.In.Write(append(line, '\n')); err != nil {
		return r, p.lost(cmd.Verb, err)
	}
	if err := p.answer.Decode(&r); err != nil {
		return r, p.lost(cmd.Verb, err)
	}
	if r.Error != "" {
		return r, failed(p.role, cmd.Verb, errors.New(r.Error))
	}
	return r, nil
}

// failed adds the child's role and command to an error.
func failed(role string, v verb, err error) error {
	return fmt.Errorf("%s process: %s: %w", role, v, err)
}

// lost describes a child that ended too early.
func (p *otherProcess) lost(during verb, err error) error {
	if e := p.Stop(host.Grace); e != nil {
		err = e
	}
	return fmt.Errorf("%s process: lost during %s: %w", p.role, during, err)
}

// thisProcess is a child in the coordinator's process.
type thisProcess struct {
	*child
	*guard
}

// guard is shared by both children in one process.
type guard struct {
	ctx   context.Context
	stuck bool // a command did not end with ctx
}

// do carries out one command. It gives up a command that does not end with ctx.
func (p thisProcess) do(cmd command) (reply, error) {
	var r reply
	done := make(chan error, 1)
	go func() {
		var err error
		r, err = p.child.do(cmd)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			err = failed(p.role, cmd.Verb, err)
		}
		return r, err
	case <-p.ctx.Done():
		p.stuck = true
		return reply{}, failed(p.role, cmd.Verb, context.Cause(p.ctx))
	}
}

// Stop closes what is open, unless a command is stuck.
func (p thisProcess) Stop(time.Duration) error {
	if p.stuck {
		return nil
	}
	return p.closeAll()
}
