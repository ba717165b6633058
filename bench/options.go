package bench

import (
	"cmp"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// Options says what to measure, where, and for how long.
type Options struct {
	// Grid has the points to measure.
	Grid Grid
	// Time limits the whole run, without starting and stopping the server's process; 0 means a
	// second for each point. Each round of a point gets its share, between MinPerRound (0 means 100
	// ms) and MaxPerRound (0 means no limit). Points without time left are left out.
	Time, MinPerRound, MaxPerRound time.Duration
	// Rounds is how often each point is measured if the recommendation depends on it; these points
	// are all on one path. Others are measured a fifth as often, but at least once. If Time is
	// short, there are fewer rounds. 0 means 40.
	Rounds int

	// Server is the address of a running server, "host:port". If it is empty, Run starts one with
	// Command, and stops it at the end. That process must call ServeChild.
	Server  string
	Command []string
	// ServerCPUs pins the process that Command starts, and ClientCPUs this process during Run.
	// Empty means no pinning.
	ServerCPUs, ClientCPUs []int
	// Sockets configures the sockets at this side.
	Sockets host.Sockets

	// Memory limits the bytes of payload of all calls under way, at both ends together; 0 means
	// 1 GiB. Points that need more are left out.
	Memory int64

	// Trace, if not nil, records what the measured calls send and receive, which slows them down.
	Trace *trace.Writer

	// Progress, if not nil, is called before each round.
	Progress func(Progress)
	// Logger logs errors; nil means slog.Default().
	Logger *slog.Logger

	// patience is how long a point may overrun its time before the server is asked whether it is
	// alive, and how long the server may take to answer; 0 means 5 s.
	patience time.Duration
	// shuffle orders the points of a pass; nil means rand.Shuffle.
	shuffle func(n int, swap func(i, j int))
}

// Progress says how far a run is.
type Progress struct {
	Point  Point         // the next to be measured
	Points int           // number of all
	Done   int           // rounds measured; repeated ones do not count
	Total  int           // rounds planned
	Left   time.Duration // at most
}

// defaultMemory is the default of Options.Memory and ServerOptions.Memory.
const defaultMemory = 1 << 30

// MemoryError means that even the smallest point needs more memory than is allowed.
type MemoryError struct {
	Least  int64 // bytes of payload under way at the smallest point
	Memory int64 // bytes allowed
	Server bool  // the server sets the limit
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("bench: the smallest point needs %d bytes for payloads under way; only %d are allowed",
		e.Least, e.Memory)
}

// withDefaults returns o with defaults for what is not set.
func (o Options) withDefaults() Options {
	o.Time = cmp.Or(o.Time, time.Duration(len(o.Grid.Points))*time.Second)
	o.MinPerRound = cmp.Or(o.MinPerRound, 100*time.Millisecond)
	o.MaxPerRound = cmp.Or(o.MaxPerRound, o.Time)
	o.Rounds = cmp.Or(o.Rounds, mostRounds)
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	o.patience = cmp.Or(o.patience, patience)
	if o.shuffle == nil {
		o.shuffle = rand.Shuffle
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return o
}

// The most calls on each connection, and connections, of a point. Servers accept no more.
const (
	MaxInFlight = 256
	MaxConns    = 512
)

// check refuses invalid options.
func (o *Options) check() error {
	switch {
	case len(o.Grid.Points) == 0:
		return fmt.Errorf("bench: no points to measure")
	case min(o.Time, o.MinPerRound, o.MaxPerRound) < 0 || o.Memory < 0 || o.Rounds < 0:
		return fmt.Errorf("bench: negative option: time %v, %v to %v for each round, %d rounds, %d bytes of memory",
			o.Time, o.MinPerRound, o.MaxPerRound, o.Rounds, o.Memory)
	case o.Server == "" && len(o.Command) == 0:
		return fmt.Errorf("bench: neither a server nor a command that starts one")
	case o.Server != "" && len(o.ServerCPUs) > 0:
		return fmt.Errorf("bench: cannot choose the CPUs of a server that is running already")
	}
	for _, p := range o.Grid.Points {
		switch {
		case p.Size < 1 || p.Size > program.MaxPayload:
			return fmt.Errorf("bench: payload of %d bytes: want 1 to %d", p.Size, program.MaxPayload)
		case p.InFlight < 1 || p.InFlight > MaxInFlight:
			return fmt.Errorf("bench: %d calls in flight: want 1 to %d", p.InFlight, MaxInFlight)
		case p.Conns < 1 || p.Conns > MaxConns:
			return fmt.Errorf("bench: %d connections: want 1 to %d", p.Conns, MaxConns)
		case p.impossible() != "":
			return fmt.Errorf("bench: %s of %d bytes over %s: %s", p.Way, p.Size, p.Path, p.impossible())
		}
	}
	return nil
}
