package iwarp

import (
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// ListenHolding is NewListener with another time for which peers that do not speak MPA are kept
// waiting. That time is not configurable. Tests need one that does not pass while they look, and
// one that they need not wait for.
func ListenHolding(below net.Listener, cfg Config, hold time.Duration) (*Listener, error) {
	cfg, err := cfg.forListener()
	if err != nil {
		return nil, err
	}
	return newHolding(below, cfg, hold), nil
}

// SinkOf returns the sink to which the LLP of ep hands segments.
func SinkOf(ep transport.Endpoint) ddp.Sink { return &ep.(*endpoint).receiver }

// SetMSN sets the next message number of every queue except that of Terminates, both ways. Call it
// before Start.
func SetMSN(ep transport.Endpoint, msn uint32) {
	e := ep.(*endpoint)
	e.sender.segmenter.mu.Lock()
	defer e.sender.segmenter.mu.Unlock()
	e.sender.segmenter.out.sendMSN, e.sender.segmenter.out.readMSN = msn-1, msn-1
	e.receiver.assembler.msn, e.receiver.readMSN = msn, msn
}
