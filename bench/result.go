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

// Measurement is one point and its figures.
type Measurement struct {
	Point
	Calls   int64         `json:"calls"`
	Elapsed time.Duration `json:"elapsed_ns"`
	Latency Latency       `json:"latency"`
	Client  Usage         `json:"client"`
	// ServerUsage is what the server used for these calls. On Loopback client and server are one
	// process, and Client has all of it.
	ServerUsage Usage `json:"server"`
	// WireBytes is the TCP or UDP payload sent in both directions; 0 where there is no wire.
	WireBytes int64 `json:"wire_bytes"`
	// Ratio is the throughput divided by that of the yardstick right before (see Yardsticks), the
	// median of the rounds; 0 if there was none. The yardstick does not wait for answers, so the
	// ratio says little about small calls one at a time.
	Ratio float64 `json:"ratio,omitempty"`
	// Rounds has the rounds in the order in which they were measured. The figures above cover the
	// undisturbed ones: Latency and Ratio are medians, the others sums.
	Rounds []Round `json:"rounds,omitempty"`
	// Disturbed is set if all rounds were disturbed. Then the figures cover all of them.
	Disturbed bool `json:"disturbed,omitempty"`
}

// Throughput returns the payload bytes a second.
func (m *Measurement) Throughput() float64 { return m.Rate() * float64(m.Size) }

// Rate returns the calls a second.
func (m *Measurement) Rate() float64 { return float64(m.Calls) / m.Elapsed.Seconds() }

// Latency is the latency of single calls, from before a call is made until its reply is decoded.
// Max is the largest of all rounds.
type Latency struct {
	P50  time.Duration `json:"p50_ns"`
	P99  time.Duration `json:"p99_ns"`
	P999 time.Duration `json:"p999_ns"`
	Max  time.Duration `json:"max_ns"`
}

// Usage is the CPU time and memory that a process has used.
type Usage = host.Usage

// LeftOut says why some points were not measured.
type LeftOut struct {
	Why    string  `json:"why"`
	Points []Point `json:"points"`
}

// Yardsticks are what the same machines do without RPC and RDMA, measured in the same run.
type Yardsticks struct {
	// copying memory, the payload's size at a time, in bytes a second
	Copy []Figure `json:"copy"`
	// raw TCP to the server, written the payload's size at a time, in bytes a second
	TCP      []Figure `json:"tcp"`
	PingPong Latency  `json:"ping_pong"` // 128 bytes there and back over raw TCP, one at a time
}

// Figure is the throughput at one size.
type Figure struct {
	Size       int     `json:"size"`       // in bytes
	Throughput float64 `json:"throughput"` // in bytes a second
}

// Crossover is the payload size from which a chunk is faster than inline, for one path, direction,
// and number of calls and connections.
type Crossover struct {
	Path     Path `json:"path"`
	Inline   Way  `json:"inline"`
	Chunk    Way  `json:"chunk"`
	InFlight int  `json:"in_flight"`
	Conns    int  `json:"conns"`
	// Size is in bytes, interpolated; 0 if the curves do not cross within the sizes measured.
	Size   int  `json:"size"`
	Always bool `json:"always"` // if Size is 0: the chunk is faster at all sizes, otherwise at none
	Up     int  `json:"up_to"`  // the largest size at which both were measured
	// Gain is the chunk's throughput at Up divided by inline's.
	Gain float64 `json:"gain"`

	// The following fields count a difference below NoiseBand as equal. Sizes are in bytes; 0 means
	// none.
	Least    int `json:"least"`     // the smallest size at which both were measured
	InlineTo int `json:"inline_to"` // the largest size up to which inline is faster
	EitherTo int `json:"either_to"` // the largest size above InlineTo up to which either will do
	// the size from which the chunk is faster: Size, if it follows InlineTo
	ChunkFrom int `json:"chunk_from"`
	// the largest ratio of the two where either will do; at least NoiseBand
	Within float64 `json:"within"`
	Except []int   `json:"except"` // sizes at which it is the other way round

	// SizeRange contains Size with 95 % certainty. A bound at Least or Up means that size or
	// beyond. Unsure is set if InlineTo or EitherTo may lie anywhere in more than one step between
	// measured sizes, with 95 % certainty, or if there are too few rounds.
	SizeRange Range `json:"size_range"`
	Unsure    bool  `json:"unsure"`

	Leads []Lead `json:"leads"` // by ascending size
}

// Lead is the chunk's throughput at one size divided by inline's.
type Lead struct {
	Size   int     `json:"size"` // in bytes
	Faster float64 `json:"faster"`
}

// Range is a range of sizes in bytes; zero if it is not known.
type Range struct {
	Low  int `json:"low"`
	High int `json:"high"`
}

// Recommendation is what to set on a path like the one measured, in bytes; 0 means no
// recommendation.
type Recommendation struct {
	Path Path `json:"path"`
	// InlineSend is rpcrdma.Config.InlineSend of the client and InlineRecv of the server.
	// InlineRecv is the reverse.
	InlineSend int `json:"inline_send"`
	InlineRecv int `json:"inline_recv"`
	// MinChunk is rpcrdma.Config.MinChunk of both ends. It is set if both inline sizes are known.
	// ChunkFrom is then not needed.
	MinChunk int `json:"min_chunk"`

	// SendRange and RecvRange contain InlineSend and InlineRecv with 95 % certainty. They are set
	// even if they are too wide for a recommendation.
	SendRange Range `json:"inline_send_range"`
	RecvRange Range `json:"inline_recv_range"`
	// Unsure lists the directions, "calls" and "replies", that were measured but remain unsure.
	Unsure []string `json:"unsure"`

	Why []string `json:"why"` // sentences with figures
}
