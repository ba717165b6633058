package sctp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"
)

// dial is an attempt to make an association (RFC 9260 section 5.1).
type dial struct {
	ports header // as this side sends them
	to    path
	ours  initiation // the INIT
	in    chan chunk // answers, and COOKIE ECHOs whose cookie is of this side
}

// firstRTO is how long the first answer may take, and lastRTO the maximum after retransmissions
// (RTO.Initial and RTO.Max, RFC 9260 section 16). The attempt has its own time limit.
const (
	firstRTO = time.Second
	lastRTO  = 10 * time.Second
)

// take takes the first chunk of a packet, if it belongs to the startup.
func (d *dial) take(c chunk) bool {
	switch c.kind() {
	case chunkInitAck, chunkCookieAck, chunkError, chunkAbort:
		d.put(c)
		return true
	}
	return false
}

// put queues a chunk. It copies the chunk, as its buffer is reused.
func (d *dial) put(c chunk) {
	select {
	case d.in <- append(chunk(nil), c...):
	default: // more answers than needed
	}
}

// errRefusedUDP is the error of a dial if the peer's host says that nothing has the UDP port.
var errRefusedUDP = fmt.Errorf("nothing receives SCTP over UDP there: %w", syscall.ECONNREFUSED)

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// refused tells dials that nothing has the UDP port. Associations go on: the report may be forged,
// and time will tell.
func (s *socket) refused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.dials {
		select {
		case d.in <- nil:
		default:
		}
	}
}

// connect makes an association with the listener at an SCTP port of an address.
func (s *socket) connect(ctx context.Context, to path, src, dst uint16) (l *link,
	ours, theirs initiation, err error) {
	ours = s.cfg.initiation()
	d := &dial{header{src: src, dst: dst}, to, ours, make(chan chunk, 4)}
	s.mu.Lock()
	s.dials[ours.tag] = d
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.dials, ours.tag)
		s.mu.Unlock()
		if err != nil && l != nil {
			s.abort(l, causeUserAbort, "")
			l.end(err)
		}
	}()
	// begin makes the link for a peer's INIT or INIT ACK, in place of any before.
	begin := func(of initiation) {
		if l != nil {
			l.end(errClosed)
		}
		theirs = of
		back := header{src: src, dst: dst, tag: theirs.tag}
		l = newLink(s, back, ours.tag, s.cfg.usable(ours, theirs), to)
		s.add(l)
	}
	for {
		c, err := s.ask(ctx, d, header{src: src, dst: dst}, chunkInitAck,
			appendChunk(nil, chunkInit, 0, ours.append(nil)))
		if err != nil {
			return l, ours, theirs, err
		}
		if c.is(chunkInitAck) {
			ack, err := s.answered(d, c)
			if err != nil {
				return l, ours, theirs, err
			}
			begin(ack)
			c, err = s.ask(ctx, d, l.ports, chunkCookieAck,
				appendChunk(nil, chunkCookieEcho, 0, theirs.cookie))
			if err == errCookieStale {
				continue
			}
			if err != nil {
				return l, ours, theirs, err
			}
		}
		if c.is(chunkCookieEcho) { // the peer has asked for the same association
			h := header{src: dst, dst: src, tag: ours.tag}
			k, _ := s.bakery.open(c.value(), to.peer, h) // cookieEcho has checked it
			if l == nil || l.ports.tag != k.theirs.tag { // RFC 9260 section 5.2.4, action B
				begin(k.theirs)
			}
			s.cookieAck(l.ports, to)
		}
		return l, ours, theirs, nil
	}
}

// answered takes an INIT ACK.
func (s *socket) answered(d *dial, c chunk) (theirs initiation, err error) {
	theirs, err = parseInitiation(c.value())
	if err == errInitTag {
		return theirs, err
	}
	back := header{src: d.ports.src, dst: d.ports.dst, tag: theirs.tag}
	cause := uint16(causeProtocolViolation)
	if err == nil && theirs.cookie == nil {
		cause, err = causeMissingParameter, errors.New("INIT ACK without a cookie")
	}
	if err == nil {
		if err = s.cfg.agree(theirs.indication); err != nil {
			cause = causeUserAbort
			atomic.AddUint64(&s.cfg.Counters.stats.Indications, 1)
		}
	}
	if err != nil {
		s.send(seal(appendAbort(back.append(nil), 0, cause, err.Error())), d.to)
	}
	return theirs, err
}

// ask sends a chunk, again and again, until its answer comes, or a COOKIE ECHO.
func (s *socket) ask(ctx context.Context, d *dial, h header, want chunkType, p []byte) (chunk, error) {
	packet := seal(append(h.append(nil), p...))
	s.send(packet, d.to)
	rto := firstRTO
	again := time.NewTimer(rto)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-again.C:
			s.send(packet, d.to)
			rto = min(2*rto, lastRTO)
			again.Reset(rto)
		case c := <-d.in:
			switch {
			case c == nil:
				return nil, errRefusedUDP
			case c.is(want), c.is(chunkCookieEcho):
				return c, nil
			case c.is(chunkAbort):
				return nil, &AbortError{causeOf(c)}
			case c.is(chunkError) && want == chunkCookieAck && isStale(c):
				return nil, errCookieStale
			}
		case <-s.done:
			return nil, errClosed
		}
	}
}

// isStale reports whether an ERROR chunk reports a stale cookie.
func isStale(c chunk) bool {
	q, _, ok := nextParameter(c.value())
	return ok && q.kind == causeStaleCookie
}

// causeOf returns the reason in an ABORT chunk.
func causeOf(c chunk) string {
	q, _, ok := nextParameter(c.value())
	switch {
	case !ok:
		return ""
	case q.kind == causeOutOfResource:
		return "out of resource"
	case len(q.value) > maxReason:
		return fmt.Sprintf("cause %d: %q", q.kind, q.value[:maxReason])
	}
	return fmt.Sprintf("cause %d: %q", q.kind, q.value)
}

// maxReason bounds the text taken from a peer's reason.
const maxReason = 100
