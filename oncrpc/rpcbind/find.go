package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// placeTime is how long each place may take to answer. headStart is how long one is asked before
// the next one is asked, too.
const (
	placeTime = 5 * time.Second
	headStart = 100 * time.Millisecond
)

// Place is a server to ask for the port of a program, over TCP or RPC-over-RDMA.
type Place struct {
	Name string // for errors, such as "TCP port server:111"
	Dial func(ctx context.Context) (oncrpc.Transport, error)
}

// FindPort asks places for the port of a program, as [Client.FindPort] does, and returns the first
// answer. It asks the next place when the previous one fails or has not answered for 100 ms. Each
// place may take 5 s. When FindPort returns, all its attempts have ended. The error is a
// *FindError, or that of ctx.
func FindPort(ctx context.Context, program, version uint32, base string, places ...Place) (uint16, error) {
	asking, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	e := &FindError{Program: program, Version: version, Base: base, Tried: make([]Attempt, len(places))}
	answers := make(chan answer, len(places))
	next := time.NewTimer(0)
	defer next.Stop()
	for begun, ended := 0, 0; ended < len(places); {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-next.C:
			if begun < len(places) {
				place, p := begun, places[begun]
				wg.Go(func() {
					port, err := p.ask(asking, program, version, base)
					answers <- answer{place, port, err}
				})
				begun++
				next.Reset(headStart)
			}
		case a := <-answers:
			if a.err == nil {
				return a.port, nil
			}
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			e.Tried[a.place] = Attempt{places[a.place].Name, a.err}
			ended++
			if a.place == begun-1 {
				next.Reset(0)
			}
		}
	}
	return 0, e
}

// answer is the answer of a place.
type answer struct {
	place int
	port  uint16
	err   error
}

// ask asks one place.
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
	return NewClient(conn).FindPort(ctx, program, version, base)
}

// FindError says that no place knew the port of a program.
type FindError struct {
	Program uint32
	Version uint32
	Base    string
	Tried   []Attempt // in the order of the places
}

// Attempt is a place that was asked, and its error.
type Attempt struct {
	Place string // its name
	Err   error
}

func (e *FindError) Error() string {
	return fmt.Sprintf("no port of %v: %s", Mapping{Program: e.Program, Version: e.Version, Netid: e.Base}, e.Reasons())
}

// Reasons lists each place with its error.
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

// reason returns what went wrong, without repeating the place and the program.
func (t *Attempt) reason() string {
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
