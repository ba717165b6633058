package paired

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// process is a child as its coordinator sees it.
type process struct {
	*host.Child
	role   string
	answer *json.Decoder
}

// startProcess starts a child on some CPUs, or on any if there are none. It lives as long as ctx at
// the most.
func startProcess(ctx context.Context, role string, cpus ...int) (*process, error) {
	c, err := host.Program{Role: role, CPUs: cpus}.Start(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s process: %w", role, err)
	}
	return &process{Child: c, role: role, answer: json.NewDecoder(c.Out)}, nil
}

// do has the child carry out one command.
func (p *process) do(cmd command) (reply, error) {
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
		return r, fmt.Errorf("%s process: %s: %s", p.role, cmd.Verb, r.Error)
	}
	return r, nil
}

// lost describes the end of a child that ended too early.
func (p *process) lost(during verb, err error) error {
	if e := p.Stop(host.Grace); e != nil {
		err = e
	}
	return fmt.Errorf("%s process: lost during %s: %w", p.role, during, err)
}
