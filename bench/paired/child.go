package paired

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// Main makes this process a child if Compare started it as one: it obeys the coordinator and then
// ends the process. Otherwise it returns at once.
func Main() {
	role := host.Role()
	if role == "" {
		return
	}
	out := os.Stdout
	os.Stdout = os.Stderr // in case the scenario prints something
	if err := newChild(role).obey(host.Stdin(), out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child is a process that runs one end of scenarios.
type child struct {
	role    string
	servers map[int]Server
	clients map[int]Client
	opened  map[int]Scenario // of the clients
	profile *os.File         // nil when there is none
	meter   host.Meter
	busy    atomic.Bool // a command has arrived and is not done
}

func newChild(role string) *child {
	return &child{
		role:    role,
		servers: make(map[int]Server),
		clients: make(map[int]Client),
		opened:  make(map[int]Scenario),
	}
}

// obey carries out commands from in until in ends.
func (c *child) obey(in io.Reader, out io.Writer) error {
	commands := make(chan command)
	go c.listen(json.NewDecoder(in), commands)
	answers := json.NewEncoder(out)
	for cmd := range commands {
		r, err := c.do(cmd)
		if err != nil {
			r.Error = err.Error()
		}
		c.busy.Store(false)
		if err := answers.Encode(r); err != nil {
			return fmt.Errorf("answer to the coordinator: %w", err)
		}
	}
	return nil
}

// listen passes commands on. If in ends during a command, because the coordinator is gone or has
// lost patience, it ends the process and says where the command was stuck.
func (c *child) listen(in *json.Decoder, commands chan<- command) {
	defer close(commands)
	for {
		var cmd command
		if err := in.Decode(&cmd); err != nil {
			if c.busy.Load() {
				fmt.Fprintf(os.Stderr, "stopped by the coordinator (%v) here:\n", err)
				_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
				os.Exit(2)
			}
			return
		}
		c.busy.Store(true)
		commands <- cmd
	}
}

func (c *child) do(cmd command) (reply, error) {
	switch cmd.Verb {
	case verbOpen:
		return c.open(cmd)
	case verbRun:
		return c.run(cmd.ID, cmd.Operations)
	case verbUsage:
		return reply{Usage: c.used()}, nil
	case verbProfile:
		return reply{}, c.setProfile(cmd.Path)
	case verbClose:
		return reply{}, c.close(cmd.ID)
	}
	return reply{}, fmt.Errorf("unknown command %q", cmd.Verb)
}

func (c *child) open(cmd command) (reply, error) {
	s, err := find(cmd.Scenario)
	if err != nil {
		return reply{}, err
	}
	ctx := context.Background() // the coordinator has the time limits
	if c.role == serverRole {
		server, err := s.Listen(ctx, cmd.Sockets)
		if err != nil {
			return reply{}, err
		}
		c.servers[cmd.ID] = server
		return reply{Addr: server.Addr()}, nil
	}
	client, err := s.Dial(ctx, cmd.Sockets, cmd.Addr)
	if err != nil {
		return reply{}, err
	}
	c.clients[cmd.ID] = client
	c.opened[cmd.ID] = s
	return reply{}, nil
}

// run does n operations and reports what they took.
func (c *child) run(id, n int) (reply, error) {
	client := c.clients[id]
	if client == nil {
		return reply{}, fmt.Errorf("scenario %d is not open", id)
	}
	s := c.opened[id]
	var samples []time.Duration
	if s.Metric == Latency {
		samples = make([]time.Duration, n/max(1, s.Batch))
	}
	before := c.used()
	start := time.Now()
	err := s.run(client, n, samples)
	elapsed := time.Since(start)
	r := reply{Elapsed: elapsed, Usage: c.used().Since(before)}
	if len(samples) > 0 {
		slices.Sort(samples)
		r.P50 = samples[len(samples)/2]
	}
	return r, err
}

// used returns what this process has used so far, with the processes that work for it.
func (c *child) used() Usage {
	u := c.meter.Used()
	for _, s := range c.servers {
		u.CPU += otherCPU(s)
	}
	for _, s := range c.clients {
		u.CPU += otherCPU(s)
	}
	return u
}

// otherCPU returns the CPU time of other processes that work for a Server or Client.
func otherCPU(end any) time.Duration {
	if m, ok := end.(Meter); ok {
		return m.CPU()
	}
	return 0
}

// setProfile starts a CPU profile in a new file; with an empty path it stops the profile.
func (c *child) setProfile(path string) error {
	if path == "" {
		if c.profile == nil {
			return errors.New("no profile to end")
		}
		pprof.StopCPUProfile()
		err := c.profile.Close()
		c.profile = nil
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(err, f.Close())
	}
	c.profile = f
	return nil
}

// closeAll ends the scenarios that are still open.
func (c *child) closeAll() error {
	var errs []error
	for id := range c.clients {
		errs = append(errs, c.close(id))
	}
	for id := range c.servers {
		errs = append(errs, c.close(id))
	}
	return errors.Join(errs...)
}

func (c *child) close(id int) error {
	var err error
	if s := c.servers[id]; s != nil {
		err = s.Close()
	}
	if s := c.clients[id]; s != nil {
		err = s.Close()
	}
	delete(c.servers, id)
	delete(c.clients, id)
	delete(c.opened, id)
	return err
}
