package local

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// operation does something n times.
type operation func(n int) error

// Pair is a candidate and its yardstick, which share a Rig.
type Pair struct {
	Name                 string
	both                 paired.Scenario // common fields
	yardstick, candidate func(*Rig) operation
}

// Register registers both with package paired, as plain/NAME and loopback/NAME. It returns their
// comparison, which demands nothing.
func (p Pair) Register() paired.Comparison {
	c := paired.Comparison{Yardstick: "plain/" + p.Name, Candidate: "loopback/" + p.Name}
	s := new(shared)
	paired.Register(p.scenario(c.Yardstick, s, p.yardstick))
	paired.Register(p.scenario(c.Candidate, s, p.candidate))
	return c
}

func (p Pair) scenario(name string, s *shared, of func(*Rig) operation) paired.Scenario {
	both := p.both
	both.Name, both.InProcess = name, true
	both.Listen = func(ctx context.Context, _ paired.Sockets) (paired.Server, error) { return s, s.open(ctx) }
	both.Dial = func(context.Context, paired.Sockets, string) (paired.Client, error) {
		return client{of(s.rig)}, nil
	}
	return both
}

// shared is the rig of both scenarios of a pair, and the server of each. It exists while one of
// them is open.
type shared struct {
	rig  *Rig
	ends int
}

func (s *shared) open(ctx context.Context) (err error) {
	if s.ends == 0 {
		if s.rig, err = NewRig(ctx); err != nil {
			return err
		}
	}
	s.ends++
	return nil
}

// Addr returns "", because there is only one rig.
func (s *shared) Addr() string { return "" }

// Close returns the memory of the rig to the system, so that the next rig gets other memory.
func (s *shared) Close() error {
	if s.ends--; s.ends > 0 {
		return nil
	}
	err := s.rig.Close()
	s.rig = nil
	debug.FreeOSMemory()
	return err
}

// client runs an operation.
type client struct{ do operation }

func (c client) Run(n int, _ []time.Duration) error { return c.do(n) }

// Close does nothing: the connection is the rig's.
func (c client) Close() error { return nil }
