package bench

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// Result is what a run has measured.
type Result struct {
	Began      time.Time     `json:"began"`
	Took       time.Duration `json:"took_ns"`
	Grid       string        `json:"grid"`   // its name: "quick", "full", "custom"
	Server     string        `json:"server"` // "another process on this host", or its address
	Conditions []string      `json:"conditions"`
	Yardsticks Yardsticks    `json:"yardsticks"`
	Measured   []Measurement `json:"measured"` // in the order of the grid
	LeftOut    []LeftOut     `json:"left_out"`

	Crossovers []Crossover    `json:"crossovers"`
	Advice     Recommendation `json:"recommendation"`
}

// Measurement is one point, with what it took.
type Measurement struct {
	Point
	Calls   int64         `json:"calls"`
	Elapsed time.Duration `json:"elapsed_ns"`
	Latency Latency       `json:"latency"`
	Client  Usage         `json:"client"`
	// ServerUsage is what the server has used for these calls. On Loopback the two are one process:
	// all is in Client.
	ServerUsage Usage `json:"server"`
	// WireBytes is what has been put on the wire in both directions, as TCP payload; 0 where there
	// is no wire.
	WireBytes int64 `json:"wire_bytes"`
	// Ratio is the throughput relative to the yardstick's measured right before (see Yardsticks),
	// the median of the rounds; 0 if there was none. The yardstick does not wait for answers, so
	// for small calls one at a time it says little.
	Ratio float64 `json:"ratio,omitempty"`
	// Rounds are the times that the point was measured, in that order. The figures above are of
	// those that were not disturbed: sums, and of Latency and Ratio the medians.
	Rounds []Round `json:"rounds,omitempty"`
	// Disturbed is set if all rounds were. The figures are of all of them then.
	Disturbed bool `json:"disturbed,omitempty"`
}

// Throughput is the payload's, in bytes a second.
func (m *Measurement) Throughput() float64 { return m.Rate() * float64(m.Size) }

// Rate is calls a second.
func (m *Measurement) Rate() float64 { return float64(m.Calls) / m.Elapsed.Seconds() }

// Latency is of single calls, in nanoseconds, each from before it is made until its reply has been
// decoded. Max is the longest of all rounds.
type Latency struct {
	P50  time.Duration `json:"p50_ns"`
	P99  time.Duration `json:"p99_ns"`
	P999 time.Duration `json:"p999_ns"`
	Max  time.Duration `json:"max_ns"`
}

// Usage is what a process has used.
type Usage = host.Usage

// LeftOut says why points of the grid were not measured.
type LeftOut struct {
	Why    string  `json:"why"`
	Points []Point `json:"points"`
}

// Yardsticks are what the same path does without RPC and RDMA, measured in the same run.
type Yardsticks struct {
	// copying memory, the payload's size at a time, in bytes a second
	Copy []Figure `json:"copy"`
	// raw TCP to the server, written the payload's size at a time, in bytes a second
	TCP      []Figure `json:"tcp"`
	PingPong Latency  `json:"ping_pong"` // 128 bytes there and back over raw TCP, one at a time
}

// Figure is a throughput at a size.
type Figure struct {
	Size       int     `json:"size"`       // in bytes
	Throughput float64 `json:"throughput"` // in bytes a second
}

// Crossover says from which size on a chunk is faster than sending inline, over one path, for one
// direction.
type Crossover struct {
	Path     Path `json:"path"`
	Inline   Way  `json:"inline"`
	Chunk    Way  `json:"chunk"`
	InFlight int  `json:"in_flight"`
	Conns    int  `json:"conns"`
	// in bytes, interpolated between two sizes; 0: none within the sizes measured
	Size   int  `json:"size"`
	Always bool `json:"always"` // with Size 0: the chunk is faster at all sizes, else at none
	Up     int  `json:"up_to"`  // the largest size at which both were measured
	// how much faster the chunk is at the largest size measured for both; below 1 it is slower
	Gain float64 `json:"gain"`

	// What follows takes for equal what differs by less than Band. Sizes are in bytes; 0: there is
	// none.
	Least    int `json:"least"`     // the smallest size at which both were measured
	InlineTo int `json:"inline_to"` // the largest up to which inline is faster
	EitherTo int `json:"either_to"` // the largest, above InlineTo, up to which either will do
	// that from which on the chunk is faster: Size, if it follows InlineTo
	ChunkFrom int `json:"chunk_from"`
	// by how many times one is faster at most where either will do; at least Band
	Within float64 `json:"within"`
	Except []int   `json:"except"` // sizes at which the other one was faster nevertheless

	// SizeRange is where Size lies with a certainty of 95 %: Least stands for that or less, and Up
	// for that or more. Unsure is set if the rounds do not tell up to one step from a size to the
	// next which way is faster up to where, or if they are too few.
	SizeRange Range `json:"size_range"`
	Unsure    bool  `json:"unsure"`

	Leads []Lead `json:"leads"` // by size
}

// Lead is how many times faster than inline the chunk is at a size; below 1 it is slower.
type Lead struct {
	Size   int     `json:"size"` // in bytes
	Faster float64 `json:"faster"`
}

// Range is between which two sizes something lies, in bytes; zero if that is not known.
type Range struct {
	Low  int `json:"low"`
	High int `json:"high"`
}

// Recommendation is what to set on a path like the one measured, in bytes; 0 is what the run does
// not tell.
type Recommendation struct {
	Path Path `json:"path"`
	// rpcrdma.Config.InlineSend of the client, InlineRecv of the server
	InlineSend int `json:"inline_send"`
	InlineRecv int `json:"inline_recv"` // and the other way round
	// rpcrdma.Config.MinChunk of both, if both inline sizes are known; there is no need for
	// ChunkFrom
	MinChunk int `json:"min_chunk"`

	// SendRange and RecvRange are where InlineSend and InlineRecv lie with a certainty of 95 %,
	// also if that is too wide to recommend anything.
	SendRange Range `json:"inline_send_range"`
	RecvRange Range `json:"inline_recv_range"`
	// Unsure are the directions, "calls" and "replies", that were measured, of which it cannot be
	// told.
	Unsure []string `json:"unsure"`

	Why []string `json:"why"` // sentences, with the figures
}
