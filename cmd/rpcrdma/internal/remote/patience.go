package remote

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// patience gives up a server that owes answers and gives none at all for the time wait. A slow
// server makes progress, and is waited for. When a server is given up, its waiting calls fail, and
// so do all later ones.
type patience struct {
	wait  time.Duration // 0: without end
	tell  *notices      // tells the user meanwhile
	close func()        // ends the waiting calls

	mu      sync.Mutex // guards what follows
	owed    int        // answers
	last    time.Time  // sign of life, or when the first answer was due
	timer   *time.Timer
	over    error // why the server has been given up; nil: it has not
	watches map[*context.CancelCauseFunc]bool
}

// SilentError says that a server has been given up because it did not answer.
type SilentError struct {
	For time.Duration
}

func (e *SilentError) Error() string {
	return "the server is connected, but has not answered for " + e.For.String() +
		": does it hang, or its disk? Use rpcrdma probe to find out"
}

// Timeout returns true.
func (e *SilentError) Timeout() bool { return true }

// begin notes that an answer is owed.
func (p *patience) begin() error {
	if p.wait == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over != nil {
		return p.over
	}
	if p.owed++; p.owed == 1 {
		p.last = time.Now()
		if p.timer == nil {
			p.timer = time.AfterFunc(p.next(0), p.look)
		} else {
			p.timer.Reset(p.next(0))
		}
	}
	return nil
}

// end notes an answer, or an error in its place. It returns the reason if the server has been given
// up, or else err.
func (p *patience) end(err error) error {
	if p.wait == 0 {
		return err
	}
	if err == nil {
		p.alive()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owed--; p.owed == 0 {
		p.timer.Stop()
	}
	if err != nil && p.over != nil {
		return p.over
	}
	return err
}

// alive notes a sign of life.
func (p *patience) alive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.tell.answered(now.Sub(p.last))
	p.last = now
}

// next returns the time until the next look at a server that has been silent for some time.
func (p *patience) next(silent time.Duration) time.Duration {
	if slow := p.tell.slow(); silent < slow && slow < p.wait {
		return slow - silent
	}
	return p.wait - silent
}

// look gives the server up if it has been silent for too long.
func (p *patience) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owed == 0 || p.over != nil {
		return
	}
	silent := time.Since(p.last)
	if silent < p.wait {
		if silent >= p.tell.slow() { // else there has been a sign of life meanwhile
			p.tell.silent(silent, p.wait)
		}
		p.timer.Reset(p.next(silent))
		return
	}
	p.over = &SilentError{p.wait}
	if lost := p.tell.lost(); lost != nil {
		p.over = &redial.OpError{Op: "call", TriedFor: p.wait, Err: lost}
	}
	for cancel := range p.watches {
		(*cancel)(p.over)
	}
	go p.close()
}

// isOver reports whether the server has been given up.
func (p *patience) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over != nil
}

// watch begins to wait for an answer that does not come over the connection, until done is called
// with its error. The context ends if the server is given up.
func (p *patience) watch(ctx context.Context) (watched context.Context, done func(error) error) {
	if p.begin() != nil {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(p.over)
		return ctx, func(error) error { return p.over }
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watches == nil {
		p.watches = make(map[*context.CancelCauseFunc]bool)
	}
	p.watches[&cancel] = true
	return ctx, func(err error) error {
		p.mu.Lock()
		delete(p.watches, &cancel)
		p.mu.Unlock()
		cancel(nil)
		return p.end(err)
	}
}

// listening is a connection whose received bytes are signs of life.
type listening struct {
	net.Conn
	alive func()
}

func (l listening) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if n > 0 {
		l.alive()
	}
	return n, err
}

// patient is a transport with patience.
type patient struct {
	*redial.Conn
	patience *patience
}

// RoundTrip calls.
func (t patient) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	if err := t.patience.begin(); err != nil {
		return err
	}
	return t.patience.end(t.Conn.RoundTrip(ctx, x))
}
