package env

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// Options says how to measure.
type Options struct {
	Starts int           // of the processes, or of what takes their place, one after the other
	Rounds int           // after each start, of all that takes turns
	Time   time.Duration // length of a round, roughly
	Limit  time.Duration // for each step, after which it is taken to hang

	Sockets host.Sockets

	// CPUs are those of the server and of the client. Empty means no pinning.
	CPUs []int

	// Profile is the directory where CPU profiles of the candidate go; empty for none.
	Profile string

	Size  int // bytes of a file
	Conns int // connections
	Files int // small files
}

// Default returns the options of pairs, those without a file or a number of connections.
func Default() Options {
	return Options{
		Starts:  5,
		Rounds:  4,
		Time:    100 * time.Millisecond,
		Limit:   time.Minute,
		Sockets: host.Sockets{Congestion: host.DefaultCongestion},
	}
}

// Gate reports whether bounds are to be demanded.
func Gate() bool { return os.Getenv("BENCH_GATE") != "" }

// Read returns the options that the environment asks for, and o where it says nothing.
func Read(o Options) (Options, error) {
	var errs []error
	for name, to := range map[string]*int{
		"BENCH_STARTS": &o.Starts, "BENCH_ROUNDS": &o.Rounds, "BENCH_SIZE": &o.Size, "BENCH_CONNS": &o.Conns, "BENCH_FILES": &o.Files,
	} {
		if v := os.Getenv(name); v != "" {
			n, err := strconv.Atoi(v)
			if err == nil && n < 1 {
				err = fmt.Errorf("%d: want 1 or more", n)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
			*to = n
		}
	}
	var err error
	if v := os.Getenv("BENCH_TIME"); v != "" {
		if o.Time, err = time.ParseDuration(v); err != nil {
			errs = append(errs, fmt.Errorf("BENCH_TIME: %w", err))
		}
	}
	switch v := os.Getenv("BENCH_CONGESTION"); v {
	case "":
	case "system":
		o.Sockets.Congestion = ""
	default:
		o.Sockets.Congestion = v
	}
	if v := os.Getenv("BENCH_PROFILE"); v != "" {
		o.Profile = v
	}
	if o.CPUs, err = parseCPUs(os.Getenv("BENCH_CPUS")); err != nil {
		errs = append(errs, fmt.Errorf("BENCH_CPUS: %w", err))
	}
	if len(errs) > 0 {
		return o, fmt.Errorf("environment: %w", errors.Join(errs...))
	}
	return o, o.Check()
}

// Check refuses options that make no sense.
func (o Options) Check() error {
	switch {
	case o.Starts < 1:
		return fmt.Errorf("%d starts", o.Starts)
	case o.Rounds < 1:
		return fmt.Errorf("%d rounds", o.Rounds)
	case o.Time <= 0:
		return fmt.Errorf("rounds of %v", o.Time)
	case o.Limit <= 0:
		return fmt.Errorf("a limit of %v", o.Limit)
	case len(o.CPUs) != 0 && len(o.CPUs) != 2:
		return fmt.Errorf("%d CPUs for two processes", len(o.CPUs))
	}
	return nil
}

// parseCPUs reads "0,1" or "none"; the empty string stands for the first two CPUs that this process
// may use, if there are two and the system lets us choose.
func parseCPUs(s string) ([]int, error) {
	switch s {
	case "none":
		return nil, nil
	case "":
		cpus, err := host.AllowedCPUs()
		if err != nil || len(cpus) < 2 {
			return nil, nil // reports tell
		}
		return cpus[:2], nil
	}
	return host.ParseCPUs(s)
}
