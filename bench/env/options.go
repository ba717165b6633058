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
	Starts int           // how often processes, or server and client, are started
	Rounds int           // of each scenario, after each start
	Time   time.Duration // of a round, roughly
	Limit  time.Duration // of each step; a longer one counts as hung

	Sockets host.Sockets

	// CPUs are one for the server and one for the client. Empty means no pinning.
	CPUs []int

	// Profile is the directory for CPU profiles of the candidate; empty means none.
	Profile string

	Size  int // bytes of a file
	Conns int // connections
	Files int // number of small files
}

// Default returns the defaults, without Size, Conns and Files.
func Default() Options {
	return Options{
		Starts:  5,
		Rounds:  4,
		Time:    100 * time.Millisecond,
		Limit:   time.Minute,
		Sockets: host.Sockets{Congestion: host.DefaultCongestion},
	}
}

// Gate reports whether tests should fail on ratios out of bounds.
func Gate() bool { return os.Getenv("BENCH_GATE") != "" }

// Read returns o with what the environment sets.
func Read(o Options) (Options, error) {
	var errs []error
	for name, to := range map[string]*int{
		"BENCH_STARTS": &o.Starts, "BENCH_ROUNDS": &o.Rounds,
		"BENCH_SIZE": &o.Size, "BENCH_CONNS": &o.Conns, "BENCH_FILES": &o.Files,
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

// Check refuses invalid options.
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

// parseCPUs parses "0,1" or "none". An empty string means the first two CPUs that this process may
// use, if there are two and the system lets us choose.
func parseCPUs(s string) ([]int, error) {
	switch s {
	case "none":
		return nil, nil
	case "":
		cpus, err := host.AllowedCPUs()
		if err != nil || len(cpus) < 2 {
			return nil, nil // reports say so
		}
		return cpus[:2], nil
	}
	return host.ParseCPUs(s)
}
