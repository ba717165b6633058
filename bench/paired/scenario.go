package paired

import (
	"context"
	"fmt"
	"time"
)

// Metric says what of two scenarios is compared.
type Metric string

// The metrics.
const (
	Throughput Metric = "throughput" // payload bytes a second
	Rate       Metric = "rate"       // operations a second
	Latency    Metric = "latency"    // median time of one operation; less is better
)

// Scenario is something that a client does with a server, again and again.
type Scenario struct {
	Name   string
	Metric Metric
	Bytes  int // payload of one operation that Throughput counts

	// Batch is how many operations of a Latency scenario there are between two looks at the clock,
	// where that would be a good part of the shortest. 0 means that the client takes the time of
	// each.
	Batch int

	// InProcess has both ends in the process of the coordinator. What they use is told as the
	// client's.
	InProcess bool
	// Procs is GOMAXPROCS while a scenario InProcess is compared; 0 leaves it alone.
	Procs int

	// Listen opens the server's end in the server's process.
	Listen func(ctx context.Context, s Sockets) (Server, error)
	// Dial opens the client's end in the client's process; addr is that of the server.
	Dial func(ctx context.Context, s Sockets, addr string) (Client, error)
}

// Server is the server's end of a scenario. It serves one client.
type Server interface {
	// Addr is what the client dials.
	Addr() string
	// Close ends serving. It fails with whatever went wrong while serving.
	Close() error
}

// Client is the client's end of a scenario.
type Client interface {
	// Run does n operations. When it returns the server has got everything, and nothing
	// is under way any more. For Latency without a Batch it stores the time of operation i in
	// samples[i]; otherwise samples is empty.
	Run(n int, samples []time.Duration) error
	// Close ends the connection.
	Close() error
}

// Meter is a Server or a Client that has work done by other processes.
type Meter interface {
	// CPU is the user and system time that these have used so far. It never gets less.
	CPU() time.Duration
}

var scenarios = make(map[string]Scenario)

// Register makes s known by its name. It is called from an init function, so that the children know
// it too, and panics when the name is taken.
func Register(s Scenario) {
	if _, taken := scenarios[s.Name]; taken {
		panic("paired: two scenarios named " + s.Name)
	}
	scenarios[s.Name] = s
}

// comparable says why s does not compare with other; empty if it does.
func (s Scenario) comparable(other Scenario) string {
	switch {
	case s.Metric != other.Metric:
		return fmt.Sprintf("%s and %s do not compare", s.Metric, other.Metric)
	case s.InProcess != other.InProcess || s.Procs != other.Procs:
		return "they do not run in the same processes"
	}
	return ""
}

// run does n operations, and takes their times where there is room for them.
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

// find returns the scenario of a name.
func find(name string) (Scenario, error) {
	s, ok := scenarios[name]
	if !ok {
		return s, fmt.Errorf("no scenario is named %q", name)
	}
	return s, nil
}
