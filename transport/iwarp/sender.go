package iwarp

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// sender takes work requests, and sends them in turn with the responses to the peer's RDMA Reads.
// One goroutine at a time sends, the one that has set sending: whoever posts, the one that
// receives, or the flusher if the network takes no more for now. The link's mu guards sending and
// corked. The segmenter, the flusher and the nudger say what guards them.
type sender struct {
	*link
	completer *completer
	sending   bool
	corked    bool // the goroutine that receives will send when it has finished its round
	nudger    nudger
	segmenter segmenter
	flusher   flusher
}

// init sets s up for an endpoint with this link and completer.
func (s *sender) init(l *link, c *completer) {
	s.link, s.completer = l, c
	s.segmenter.link = l
	s.flusher = flusher{link: l, sender: s, completer: c, kick: make(chan struct{}, 1)}
	s.nudger.sender = s
}

// connect adapts s to what was agreed on.
func (s *sender) connect(setup *ddp.Setup) {
	s.segmenter.out.version = s.version
	if setup.Initiator && !setup.EitherFirst {
		s.nudger.after = s.cfg.NudgeAfter
	}
}

// corkedRequests is how many requests may gather while the goroutine that receives is busy, before
// they are sent. See batchMessages for the reason.
const corkedRequests = 16

// sendRounds is how many batches are sent by a goroutine that has other things to do, before the
// flusher takes over.
const sendRounds = 4

// brokenTimeout is how long to read from a connection that takes nothing any more. The peer may
// have said why.
const brokenTimeout = 2 * time.Second

// post queues requests, and sends what the network takes without waiting.
func (s *sender) post(wrs []*transport.WorkRequest) error {
	if err := s.queue(wrs); err != nil {
		return err
	}
	s.send()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.completer.unattended() && !s.corked {
		s.flusher.wake()
	}
	return nil
}

// queue queues requests.
func (s *sender) queue(wrs []*transport.WorkRequest) error {
	if err := s.info.CheckPost(wrs); err != nil {
		return s.opError("post", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return s.opError("post", transport.ClosedError(s.err))
	case !s.queues.requests.ring.Room(len(wrs)):
		return s.full
	}
	for _, wr := range wrs {
		s.queues.requests.push(wr)
	}
	return nil
}

// send sends what the network takes without waiting, unless another goroutine is sending.
func (s *sender) send() {
	if !s.begin() {
		return
	}
	for range sendRounds {
		empty, err := s.segmenter.flush()
		if err != nil {
			s.fail(err)
			return
		}
		if !empty {
			break
		}
		if !s.goOn() {
			return
		}
	}
	s.handOver()
}

// begin reports whether the caller should send now.
func (s *sender) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.corked && s.queues.requests.untaken() < corkedRequests || s.sending || !s.sendable() {
		return false
	}
	s.sending = true
	return true
}

// goOn notes that the whole batch was sent. It reports whether there is more to send. If not, this
// goroutine no longer sends.
func (s *sender) goOn() bool {
	sent, cutting := s.segmenter.batchSent()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues.requests.sent = max(s.queues.requests.sent, sent)
	s.nudger.await()
	if s.err == nil && (cutting || s.sendable()) {
		return true
	}
	s.cease()
	return false
}

// handOver makes the flusher send the rest, unless the connection has ended.
func (s *sender) handOver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		s.cease()
		return
	}
	s.flusher.handed = true
	s.flusher.wake()
}

// cease notes that this goroutine no longer sends; s.mu is held.
func (s *sender) cease() {
	s.sending = false
	s.ceased()
}

// busy reports whether a goroutine is sending; s.mu is held.
func (s *sender) busy() bool { return s.sending && !s.flusher.handed }

// uncork notes that the goroutine that receives has finished its round.
func (s *sender) uncork() {
	s.mu.Lock()
	s.corked = false
	s.mu.Unlock()
}

// fail handles an error that keeps the batch from being sent. This goroutine no longer sends.
func (s *sender) fail(err error) {
	bad, isViolation := err.(*violation)
	switch {
	case isViolation:
		const line = "connection terminated: window ended during a read"
		s.end(s.opError("read by peer", bad.err), &bad.terminate, nil, line)
	case err == ddp.ErrStalled:
		s.end(s.opError("send", err), nil, &s.counters.stats.Stalls, "connection ended")
	default:
		s.breakOff(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cease()
}

// breakOff notes that nothing can be sent any more. The reason may be in what the peer sent before,
// so reading goes on.
func (s *sender) breakOff(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.broken == nil {
		s.broken = err
		if s.handler != nil { // otherwise Start does this
			s.awaitReason()
		}
	}
}

// awaitReason gives up a broken connection after brokenTimeout; s.mu is held.
func (s *sender) awaitReason() {
	cause := s.opError("send", byPeer(s.broken))
	time.AfterFunc(brokenTimeout, func() { s.end(cause, nil, nil, "") })
}
