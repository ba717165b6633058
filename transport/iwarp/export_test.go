package iwarp

import (
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// ListenHolding is NewListener with another time for which peers are kept that come again without
// speaking MPA. That time is nobody's to configure; a test needs one that does not pass while it
// looks, and one that does not make it wait.
func ListenHolding(below net.Listener, cfg Config, hold time.Duration) (*Listener, error) {
	cfg, err := cfg.forListener()
	if err != nil {
		return nil, err
	}
	return newListener(below, cfg, hold), nil
}

// SinkOf is what the LLP of ep hands segments to.
func SinkOf(ep transport.Endpoint) ddp.Sink { return &ep.(*endpoint).receiver }

// SetMSN has msn be the next message number of every queue but that of Terminates, both ways. It is
// called before Start.
func SetMSN(ep transport.Endpoint, msn uint32) {
	e := ep.(*endpoint)
	e.sender.segmenter.mu.Lock()
	defer e.sender.segmenter.mu.Unlock()
	e.sender.segmenter.out.sendMSN, e.sender.segmenter.out.readMSN = msn-1, msn-1
	e.receiver.assembler.msn, e.receiver.readMSN = msn, msn
}
