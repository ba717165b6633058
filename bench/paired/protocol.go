package paired

import "time"

// The coordinator writes one command a line to the child's standard input, as JSON, and
// reads one reply a line from its standard output.

// The roles of children.
const (
	serverRole = "server"
	clientRole = "client"
)

// command tells a child what to do.
type command struct {
	Verb verb
	ID   int `json:",omitempty"` // of an open scenario, chosen by the coordinator

	Scenario   string  `json:",omitempty"` // open
	Sockets    Sockets `json:",omitzero"`  // open
	Addr       string  `json:",omitempty"` // open, at the client
	Operations int     `json:",omitempty"` // run
	Path       string  `json:",omitempty"` // profile: the file; empty stops the profile
}

type verb string

const (
	verbOpen    verb = "open"    // set up one end of a scenario
	verbRun     verb = "run"     // do operations; the client only
	verbUsage   verb = "usage"   // report what this process has used
	verbProfile verb = "profile" // start or stop a CPU profile
	verbClose   verb = "close"   // close a scenario
)

// reply answers a command.
type reply struct {
	Error string `json:",omitempty"`

	Addr    string        `json:",omitempty"` // open, from the server
	Elapsed time.Duration `json:",omitempty"` // run
	P50     time.Duration `json:",omitempty"` // run, for Latency
	Usage   Usage         `json:",omitzero"`  // run: of the client; usage: until now
}
