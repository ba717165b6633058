package paired

import (
	"context"
	"fmt"
	"time"
)

// Metric says which figures of two scenarios are compared.
type Metric string

// The metrics.
const (
	Throughput Metric = "throughput" // payload bytes a second
	Rate       Metric = "rate"       // operations a second
	Latency    Metric = "latency"    // median time of one operation; less is better
)

// Scenario is something that a client does with a server again and again.
type Scenario struct {
	Name   string
	Metric Metric
	Bytes  int // payload of one operation, for Throughput

	// Batch is how many operations a Latency scenario does between two readings of the clock. Set
	// it if an operation is so short that reading the clock would count. 0 means that the client
	// times each operation.
	Batch int

	// InProcess runs both ends in the coordinator's process. The client's usage then covers both.
	InProcess bool
	// Procs is GOMAXPROCS while a scenario with InProcess is compared; 0 does not change it.
	Procs int

	// Listen opens the server's end in the server's process.
	Listen func(ctx context.Context, s Sockets) (Server, error)
	// Dial opens the client's end in the client's process; addr is that of the server.
	Dial func(ctx context.Context, s Sockets, addr string) (Client, error)
}

// Server is the server's end of a scenario. It serves one client.
type Server interface {
	// Addr returns the address to dial.
	Addr() string
	// Close stops serving. It returns the first error that occurred while serving.
	Close() error
}

// Client is the client's end of a scenario.
type Client interface {
	// Run does n operations. When it returns, the server has received everything, and nothing is
	// under way. For Latency without Batch it stores the time of operation i in samples[i];
	// otherwise samples is empty.
	Run(n int, samples []time.Duration) error
	// Close closes the connection.
	Close() error
}

// Meter is a Server or a Client that lets other processes do work.
type Meter interface {
	// CPU returns the user and system time that these have used so far. It never decreases.
	CPU() time.Duration
}

var scenarios = make(map[string]Scenario)

// Register registers s under its name. Call it from an init function, so that child processes
// register it too. It panics if the name is taken.
func Register(s Scenario) {
	if _, taken := scenarios[s.Name]; taken {
		panic("paired: two scenarios named " + s.Name)
	}
	scenarios[s.Name] = s
}

// comparable says why s cannot be compared with other; "" if it can.
func (s Scenario) comparable(other Scenario) string {
	switch {
	case s.Metric != other.Metric:
		return fmt.Sprintf("%s and %s do not compare", s.Metric, other.Metric)
	case s.InProcess != other.InProcess || s.Procs != other.Procs:
		return "they do not run in the same processes"
	}
	return ""
}

// run does n operations, and times them if there is room in samples.
func (s Scenario) run(c Client, n int, samples []time.Duration) error {
	if s.Batch == 0 || len(samples) == 0 {
		return c.Run(n, samples)
	}
	for i := range samples {
		start := time.Now()
		if err := c.Run(s.Batch, nil); err != nil {
			return err
		}
		samples[i] = time.Since(start) / time.Duration(s.Batch)
	}
	return nil
}

// find returns the scenario with this name.
func find(name string) (Scenario, error) {
	s, ok := scenarios[name]
	if !ok {
		return s, fmt.Errorf("no scenario is named %q", name)
	}
	return s, nil
}
