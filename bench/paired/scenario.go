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
	// is under way any more. For Latency it stores the time of operation i in samples[i];
	// otherwise samples is empty.
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

// find returns the scenario of a name.
func find(name string) (Scenario, error) {
	s, ok := scenarios[name]
	if !ok {
		return s, fmt.Errorf("no scenario is named %q", name)
	}
	return s, nil
}
