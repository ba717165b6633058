package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// placeTime is how long each place may take to say where a program is.
const placeTime = 5 * time.Second

// Place is where the program may answer: over TCP or over RPC-over-RDMA, at Port or at another port.
type Place struct {
	Name string // in errors, such as "TCP port server:111"
	Dial func(ctx context.Context) (oncrpc.Transport, error)
}

// Find asks one place after another for the port of a program, as [Client.Port] does, until one knows it. Each may take 5 s. The
// error is a *FindError, or the context's.
func Find(ctx context.Context, program, version uint32, base string, places ...Place) (uint16, error) {
	e := &FindError{Program: program, Version: version, Base: base}
	for _, p := range places {
		port, err := p.ask(ctx, program, version, base)
		if err == nil {
			return port, nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		e.Tried = append(e.Tried, Try{p.Name, err})
	}
	return 0, e
}

// ask asks at one place.
func (p *Place) ask(ctx context.Context, program, version uint32, base string) (uint16, error) {
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	conn, err := p.Dial(ctx)
	if err != nil {
		return 0, err
	}
	defer func() {
		conn.Close()
		<-conn.Done()
	}()
	return NewClient(conn).Port(ctx, program, version, base)
}

// FindError is a program that nobody has said the port of.
type FindError struct {
	Program uint32
	Version uint32
	Base    string
	Tried   []Try // in this order
}

// Try is a place that was asked.
type Try struct {
	Place string // its name
	Err   error
}

func (e *FindError) Error() string {
	return fmt.Sprintf("no port of %v: %s", Mapping{Program: e.Program, Version: e.Version, Netid: e.Base}, e.Reasons())
}

// Reasons says of each place what has gone wrong there.
func (e *FindError) Reasons() string {
	if len(e.Tried) == 0 {
		return "there is nowhere to ask"
	}
	var all []string
	for _, t := range e.Tried {
		all = append(all, t.Place+": "+t.reason())
	}
	return strings.Join(all, "; ")
}

// reason says what went wrong without saying again where, and what was asked for.
func (t *Try) reason() string {
	if errors.Is(t.Err, context.DeadlineExceeded) {
		return "no answer"
	}
	err := t.Err
	if op := (*OpError)(nil); errors.As(err, &op) {
		err = op.Err
	}
	if accept := (*oncrpc.AcceptError)(nil); errors.As(err, &accept) {
		err = accept
	}
	return reason(err).Error()
}

// Unwrap returns the errors of all places.
func (e *FindError) Unwrap() []error {
	var all []error
	for _, t := range e.Tried {
		all = append(all, t.Err)
	}
	return all
}
