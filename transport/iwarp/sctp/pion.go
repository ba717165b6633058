package sctp

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/pion/logging"
	"github.com/pion/sctp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

// pionAssociation is an association run by pion/sctp over a link.
type pionAssociation struct {
	link  *link
	assoc *sctp.Association
	first uint32 // the peer's first TSN

	mu  sync.RWMutex // guards what follows
	out map[uint16]*sctp.Stream
}

var _ lower.Association = (*pionAssociation)(nil)

// maxMessage is the maximum length of a message in bytes. No segment is longer. A peer that sends a
// longer one is aborted.
const maxMessage = 1 << 16

// associate makes pion/sctp run an association after the startup, but for the DATA that the peer
// sends. It passes the INITs of both sides as SNAP tokens (draft-hancke-tsvwg-snap).
func associate(l *link, ours, theirs initiation) (*pionAssociation, error) {
	l.start(ours.tsn, theirs.tsn)
	assoc, err := sctp.ClientContext(context.Background(),
		sctp.WithNetConn(l),
		sctp.WithSNAP(token(ours), token(theirs)),
		sctp.WithMTU(uint32(l.most)),
		sctp.WithMaxMessageSize(maxMessage),
		sctp.WithEnableZeroChecksum(true), // link computes the checksum
		sctp.WithEnableInterleaving(false),
		sctp.WithRTOMax(float64(lastRTO/time.Millisecond)),
		sctp.WithLoggerFactory(silent{}),
	)
	if err != nil {
		l.end(err)
		return nil, err
	}
	return &pionAssociation{
		link: l, assoc: assoc, first: theirs.tsn, out: make(map[uint16]*sctp.Stream),
	}, nil
}

// token returns an INIT chunk for pion/sctp. It says that a checksum of zero is acceptable, as over
// DTLS (RFC 9653).
func token(i initiation) []byte {
	i.cookie, i.unrecognized = nil, nil
	dtls := parameter{paramZeroChecksum, []byte{0, 0, 0, 1}}
	return appendChunk(nil, chunkInit, 0, dtls.append(i.append(nil)))
}

func (p *pionAssociation) Streams() int     { return int(p.link.streams) }
func (p *pionAssociation) FirstTSN() uint32 { return p.first }
func (p *pionAssociation) MaxMessage() int  { return p.link.maxMessage() }

// stream returns the stream with an id, to send on.
func (p *pionAssociation) stream(id uint16) (*sctp.Stream, error) {
	p.mu.RLock()
	s := p.out[id]
	p.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.out[id]; s != nil {
		return s, nil
	}
	s, err := p.assoc.OpenStream(id, 0)
	if err != nil {
		return nil, err
	}
	s.SetReliabilityParams(true, sctp.ReliabilityTypeReliable, 0)
	p.out[id] = s
	return s, nil
}

func (p *pionAssociation) Send(stream uint16, ppid uint32, data []byte) error {
	s, err := p.stream(stream)
	if err != nil {
		return err
	}
	_, err = s.WriteSCTP(data, sctp.PayloadProtocolIdentifier(ppid))
	return err
}

func (p *pionAssociation) Unacknowledged(stream uint16) int {
	s, err := p.stream(stream)
	if err != nil {
		return 0
	}
	return int(s.BufferedAmount())
}

func (p *pionAssociation) Acknowledged(stream uint16, below int, f func()) {
	s, err := p.stream(stream)
	if err != nil {
		return
	}
	s.SetBufferedAmountLowThreshold(uint64(below - 1))
	s.OnBufferedAmountLow(f)
}

func (p *pionAssociation) Receive(b []byte) (lower.Message, error) {
	m, ok := p.link.in.receive(b)
	if !ok {
		return m, p.why(errClosed)
	}
	return m, nil
}

// why returns why the association has ended. If this side did not end it, it was the peer's
// shutdown, after which pion/sctp closes the link.
func (p *pionAssociation) why(err error) error {
	p.link.mu.Lock()
	reason := p.link.reason
	p.link.mu.Unlock()
	if reason != nil && reason != errClosed {
		return reason
	}
	if errors.Is(err, errClosed) {
		return io.EOF
	}
	return err
}

// Watch checks the peer and the path until the path ends.
func (p *pionAssociation) Watch(done <-chan struct{}) {
	keepAlive := p.link.socket.cfg.KeepAlive
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-p.link.gone:
			return
		case <-tick.C:
		}
		p.link.look()
		switch silent := time.Since(time.Unix(0, p.link.heard.Load())); {
		case silent > 3*keepAlive:
			p.link.refuse(causeUserAbort, ErrGone)
			return
		case silent > keepAlive:
			p.assoc.ActiveHeartbeat()
		}
	}
}

// shutdownTimeout bounds the wait until the peer has acknowledged everything (T5-shutdown-guard,
// RFC 9260 section 9.2). If the peer is silent, Watch ends the association earlier.
const shutdownTimeout = 5 * lastRTO

func (p *pionAssociation) Shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if p.assoc.Shutdown(ctx) != nil {
		p.Abort("")
	}
	p.link.end(errClosed)
	p.assoc.Close()
}

func (p *pionAssociation) Abort(reason string) {
	p.link.endWith(errClosed, func() { p.link.socket.abort(p.link, causeUserAbort, reason) })
	p.assoc.Close()
}

// silent logs nothing: what matters is returned as an error.
type silent struct{}

func (silent) NewLogger(string) logging.LeveledLogger {
	return logging.NewDefaultLeveledLoggerForScope("", logging.LogLevelDisabled, io.Discard)
}
