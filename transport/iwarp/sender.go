package iwarp

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// sender takes work requests, and sends them in turn with the responses to the peer's RDMA Reads.
// One goroutine at a time sends, the one that has set sending: whoever posts, the one that
// receives, or the flusher when the network takes no more for now. The link's mu guards sending and
// corked; the segmenter, the flusher and the nudger say themselves what guards them.
type sender struct {
	*link
	completer *completer
	sending   bool
	corked    bool // the goroutine that receives will send when it is through
	nudger    nudger
	segmenter segmenter
	flusher   flusher
}

// init readies s for an endpoint with this link and completer.
func (s *sender) init(l *link, c *completer, initiator bool) {
	s.link, s.completer = l, c
	s.segmenter = segmenter{link: l, out: outgoing{version: l.version}}
	s.flusher = flusher{link: l, sender: s, completer: c, kick: make(chan struct{}, 1)}
	if initiator {
		s.nudger = nudger{sender: s, after: l.cfg.NudgeAfter}
	}
}

// corkedRequests is how many requests may gather while the goroutine that receives is busy, before
// they are sent, for the reason that batchMessages has.
const corkedRequests = 16

// sendRounds is how many batches somebody sends who has other things to do, before the flusher goes
// on with it.
const sendRounds = 4

// brokenTimeout is how long a connection that takes nothing any more is read from: the peer may
// have said why.
const brokenTimeout = 2 * time.Second

// post queues requests, and sends what the network takes.
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
		return s.opError("post", s.closed)
	case !s.queues.requests.ring.Room(len(wrs)):
		return s.full
	}
	for _, wr := range wrs {
		s.queues.requests.push(wr)
	}
	return nil
}

// send sends what is queued, as far as the network takes it at once, unless another goroutine does
// so.
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

// begin reports whether the caller is to send now.
func (s *sender) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.corked && s.queues.requests.untaken() < corkedRequests || s.sending || !s.sendable() {
		return false
	}
	s.sending = true
	return true
}

// goOn notes that all of the batch has left. It reports whether there is more to send; if not, the
// goroutine does not send any more.
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

// handOver has the flusher send the rest, unless the connection has ended.
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

// cease notes that the goroutine does not send any more; s.mu is held.
func (s *sender) cease() {
	s.sending = false
	s.ceased()
}

// busy reports whether a goroutine sends; s.mu is held.
func (s *sender) busy() bool { return s.sending && !s.flusher.handed }

// uncork notes that the goroutine that receives is through.
func (s *sender) uncork() {
	s.mu.Lock()
	s.corked = false
	s.mu.Unlock()
}

// fail deals with what keeps the batch from being sent. The goroutine does not send any more.
func (s *sender) fail(err error) {
	bad, isViolation := err.(*violation)
	switch {
	case isViolation:
		const line = "connection terminated: window ended during a read"
		s.end(s.opError("read by peer", bad.err), &bad.terminate, nil, line)
	case err == ddp.ErrStalled:
		s.end(s.opError("send", err), nil, &s.counters.stalls, "connection ended")
	default:
		s.breakOff(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cease()
}

// breakOff notes that nothing can be sent any more. Why, the peer may have said in what there is to
// read still.
func (s *sender) breakOff(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.broken == nil {
		s.broken = err
		if s.handler != nil { // otherwise nobody has asked yet
			s.awaitReason()
		}
	}
}

// awaitReason gives up a broken connection after a while; s.mu is held.
func (s *sender) awaitReason() {
	cause := s.opError("send", byPeer(s.broken))
	time.AfterFunc(brokenTimeout, func() { s.end(cause, nil, nil, "") })
}
