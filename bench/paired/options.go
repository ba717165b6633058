package paired

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// Options says how to compare.
type Options struct {
	Starts int           // pairs of processes, one after the other
	Rounds int           // pairs of rounds in each
	Time   time.Duration // length of a round, roughly
	Limit  time.Duration // for each step, after which it is taken to hang

	Sockets Sockets

	// CPUs are those of the server and of the client. Empty means no pinning.
	CPUs []int

	// Profile is the directory where CPU profiles of the candidate go; empty for none.
	Profile string
}

const (
	defaultStarts = 5
	defaultRounds = 4
	defaultTime   = 100 * time.Millisecond
	defaultLimit  = time.Minute
)

// OptionsFromEnv returns the options that the environment asks for (see the package
// comment), or the defaults.
func OptionsFromEnv() (Options, error) {
	o := Options{
		Starts:  defaultStarts,
		Rounds:  defaultRounds,
		Time:    defaultTime,
		Limit:   defaultLimit,
		Sockets: Sockets{Congestion: host.DefaultCongestion},
		Profile: os.Getenv("PAIRED_PROFILE"),
	}
	var errs [4]error
	if v := os.Getenv("PAIRED_STARTS"); v != "" {
		o.Starts, errs[3] = strconv.Atoi(v)
	}
	if v := os.Getenv("PAIRED_ROUNDS"); v != "" {
		o.Rounds, errs[0] = strconv.Atoi(v)
	}
	if v := os.Getenv("PAIRED_TIME"); v != "" {
		o.Time, errs[1] = time.ParseDuration(v)
	}
	switch v := os.Getenv("PAIRED_CONGESTION"); v {
	case "":
	case "system":
		o.Sockets.Congestion = ""
	default:
		o.Sockets.Congestion = v
	}
	o.CPUs, errs[2] = parseCPUs(os.Getenv("PAIRED_CPUS"))
	if err := errors.Join(errs[:]...); err != nil {
		return o, fmt.Errorf("paired: environment: %w", err)
	}
	return o, o.check()
}

// check refuses options that make no sense.
func (o Options) check() error {
	switch {
	case o.Starts < 1:
		return fmt.Errorf("paired: %d starts", o.Starts)
	case o.Rounds < 1:
		return fmt.Errorf("paired: %d rounds", o.Rounds)
	case o.Time <= 0:
		return fmt.Errorf("paired: rounds of %v", o.Time)
	case o.Limit <= 0:
		return fmt.Errorf("paired: a limit of %v", o.Limit)
	case len(o.CPUs) != 0 && len(o.CPUs) != 2:
		return fmt.Errorf("paired: %d CPUs for two processes", len(o.CPUs))
	}
	return nil
}

// parseCPUs reads "0,1" or "none"; the empty string stands for the first two CPUs that this process may
// use, if there are two and the system lets us choose.
func parseCPUs(s string) ([]int, error) {
	switch s {
	case "none":
		return nil, nil
	case "":
		cpus, err := host.AllowedCPUs()
		if err != nil || len(cpus) < 2 {
			return nil, nil // the report tells
		}
		return cpus[:2], nil
	}
	return host.ParseCPUs(s)
}
