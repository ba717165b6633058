package probe

import (
	"io"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// pingJSON is the result of ping, as --json prints it (docs/json.md).
type pingJSON struct {
	URL      string    `json:"url"`
	Address  string    `json:"address,omitempty"`
	Program  uint32    `json:"program"`
	Version  uint32    `json:"version"`
	Calls    int       `json:"calls"`
	Answered int       `json:"answered"`
	Seconds  float64   `json:"seconds"`
	Answers  *pingTook `json:"answer_seconds,omitempty"`
}

// pingTook is the latency of answers, in seconds.
type pingTook struct {
	Min float64 `json:"min"`
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// writeJSON prints the result of all calls.
func (p *Pinger) writeJSON() error {
	j := pingJSON{
		URL:      p.target.Server(),
		Address:  p.address,
		Program:  uint32(p.flags.program),
		Version:  uint32(p.flags.version),
		Calls:    p.Calls,
		Answered: int(p.answered.TotalCount()),
		Seconds:  time.Since(p.began).Seconds(),
	}
	if j.Answered > 0 {
		j.Answers = &pingTook{p.min.Seconds(), p.percentile(50).Seconds(), p.percentile(99).Seconds(), p.max.Seconds()}
	}
	return cli.WriteJSON(p.results, j)
}

// confJSON is the result of conf, as --json prints it (docs/json.md). It leaves out what a message
// has no field for.
type confJSON struct {
	URL      string      `json:"url"`
	Program  uint32      `json:"program"` // 0: the server has none
	Private  bool        `json:"private_data"`
	Setup    confNumbers `json:"setup"`
	Asked    confNumbers `json:"asked"`
	Answered confNumbers `json:"answered"`
	InForce  confNumbers `json:"in_force"`
}

// confNumbers are the numbers: bytes, and counts of RDMA Reads.
type confNumbers struct {
	LargestCall   uint64 `json:"largest_call,omitempty"`
	LargestReply  uint64 `json:"largest_reply,omitempty"`
	ReadsAtServer uint64 `json:"reads_at_server,omitempty"`
	ReadsAtClient uint64 `json:"reads_at_client,omitempty"`
	Alignment     uint64 `json:"alignment,omitempty"`
}

// writeJSON prints it.
func (a *confAnswer) writeJSON(out io.Writer) error {
	j := confJSON{
		URL:     a.base,
		Program: a.program,
		Private: a.private,
		Setup: confNumbers{LargestCall: uint64(a.was.MaxSend), LargestReply: uint64(a.was.MaxRecv),
			ReadsAtServer: uint64(a.was.Reads), ReadsAtClient: uint64(a.was.PeerReads)},
	}
	if a.program != 0 {
		j.Asked = confNumbers{LargestCall: uint64(a.asked.MaxCallSendSize),
			LargestReply:  uint64(a.asked.MaxReplySendSize),
			ReadsAtClient: uint64(a.asked.MaxRDMARead)}
		j.Answered = confNumbers{LargestCall: uint64(a.reply.MaxCallSendSize),
			ReadsAtServer: uint64(a.reply.MaxRDMARead),
			Alignment:     uint64(a.reply.Align)}
		j.InForce = confNumbers{LargestCall: uint64(a.now.MaxSend), LargestReply: uint64(a.now.MaxRecv),
			ReadsAtServer: uint64(a.now.Reads), ReadsAtClient: uint64(a.now.PeerReads),
			Alignment: uint64(a.now.PeerAlign)}
	}
	return cli.WriteJSON(out, j)
}
