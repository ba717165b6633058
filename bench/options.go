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
	// Grid is the points to measure.
	Grid Grid
	// Time is how long all of it may take, but for the beginning and the end of the server's
	// process; 0 means a second for each point. Each round of a point gets its share, of at least
	// MinPerRound, where 0 means 100 ms, and at most MaxPerRound, where 0 means no bound. What no
	// time is left for is left out.
	Time, MinPerRound, MaxPerRound time.Duration
	// Rounds is how often each point is measured that has a say in what is recommended, which is
	// for one path; others are a fifth as often, once at least. It is fewer where Time does not
	// suffice. 0 means 40.
	Rounds int

	// Server is the address of a server, "host:port". If it is empty, Command starts one, with
	// ServeChild in it, which ends with Run.
	Server  string
	Command []string
	// ServerCPUs and ClientCPUs are those of the process that Command starts, and of this one
	// meanwhile. None means that it is not pinned.
	ServerCPUs, ClientCPUs []int
	// Sockets are this side's.
	Sockets host.Sockets

	// Memory bounds the bytes that the payloads of all calls under way take, at both ends together;
	// 0 means 1 GiB. Points that would take more are left out.
	Memory int64

	// Trace, if not nil, has what the calls that are measured send and receive, and takes time of
	// them.
	Trace *trace.Writer

	// Progress, if set, is called before each round.
	Progress func(Progress)
	// Logger takes what goes wrong; nil means slog.Default().
	Logger *slog.Logger

	// patience is how much longer than it is to a point may take before the server is asked whether
	// it is still there, and how long it may take to answer; 0 means 5 s.
	patience time.Duration
	// shuffle puts the points of a pass in random order; nil means rand.Shuffle.
	shuffle func(n int, swap func(i, j int))
}

// Progress is how far a run is.
type Progress struct {
	Point  Point         // to be measured next
	Points int           // in all
	Done   int           // rounds that have been measured, without those that were taken again
	Total  int           // rounds
	Left   time.Duration // at most
}

// defaultMemory is Options.Memory, and ServerOptions.Memory.
const defaultMemory = 1 << 30

// MemoryError says that not even the smallest point can be measured with the memory that there is.
type MemoryError struct {
	Least  int64 // bytes that the payloads of all calls under way take, of the point with the least
	Memory int64 // bytes that they may take
	Server bool  // it is the server that allows no more
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("bench: the payloads under way would take %d bytes at least, of %d that are allowed", e.Least, e.Memory)
}

// withDefaults fills in what is not set.
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

// The most of each kind in a point: what servers take.
const (
	MaxInFlight = 256
	MaxConns    = 512
)

// check refuses options that make no sense.
func (o *Options) check() error {
	switch {
	case len(o.Grid.Points) == 0:
		return fmt.Errorf("bench: no points to measure")
	case min(o.Time, o.MinPerRound, o.MaxPerRound) < 0 || o.Memory < 0 || o.Rounds < 0:
		return fmt.Errorf("bench: a time of %v, %v to %v for each of %d rounds, %d bytes of memory",
			o.Time, o.MinPerRound, o.MaxPerRound, o.Rounds, o.Memory)
	case o.Server == "" && len(o.Command) == 0:
		return fmt.Errorf("bench: neither a server nor a command that starts one")
	case o.Server != "" && len(o.ServerCPUs) > 0:
		return fmt.Errorf("bench: CPUs for a server that runs already")
	}
	for _, p := range o.Grid.Points {
		switch {
		case p.Size < 1 || p.Size > program.MaxPayload:
			return fmt.Errorf("bench: a payload of %d bytes: 1 to %d are possible", p.Size, program.MaxPayload)
		case p.InFlight < 1 || p.InFlight > MaxInFlight:
			return fmt.Errorf("bench: %d calls in flight: 1 to %d are possible", p.InFlight, MaxInFlight)
		case p.Conns < 1 || p.Conns > MaxConns:
			return fmt.Errorf("bench: %d connections: 1 to %d are possible", p.Conns, MaxConns)
		case p.impossible() != "":
			return fmt.Errorf("bench: %s of %d bytes over %s: %s", p.Way, p.Size, p.Path, p.impossible())
		}
	}
	return nil
}
