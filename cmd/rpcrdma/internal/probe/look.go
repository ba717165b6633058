package probe

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// speaker is what a port speaks, or why it says nothing.
type speaker string

const (
	speaksIWARP speaker = "iWARP"
	speaksRoCE  speaker = "RoCE"
	speaksRPC   speaker = "RPC over TCP"
	speaksOther speaker = "neither iWARP nor RPC"
	speaksNot   speaker = "takes connections and says nothing"
	endsAll     speaker = "takes connections and ends them at once"
	nobody      speaker = "nothing listens"
	silent      speaker = "no answer"
	unreachable speaker = "cannot be reached"
)

// glance is the result of a look at a port of the server.
type glance struct {
	at   reach.Target
	mpa  mpaAnswer // of iWARP
	roce error     // of a connection
	rpc  rpcAnswer
}

// rpcAnswer is the result of calls of NULL over TCP.
type rpcAnswer struct {
	tried bool
	nfs   error // of NFS version 3
	other error // of rpcbind, on the same connection
}

// otherTime bounds the look at ports that the URL does not name.
const otherTime = 2 * time.Second

// portLook looks at the port of the URL and at the usual ones, in the background.
type portLook struct {
	*scene
	usual []reach.Target
	roce  *roceStep

	seen func() []glance // waits for the result, that of the URL's port first
}

// begin begins to look. The port of the URL must be known.
func (p *portLook) begin(ctx context.Context) {
	p.seen = begun(func() []glance { return p.look(ctx) })
}

// look looks at the port of the URL and at the usual ones, concurrently.
func (p *portLook) look(ctx context.Context) []glance {
	all := []glance{{at: p.at}}
	for _, t := range p.usual {
		if t.Port != p.at.Port || t.OverUDP() != p.at.OverUDP() || t.OverUDP() && t.Scheme != p.at.Scheme {
			all = append(all, glance{at: t})
		}
	}
	var wg sync.WaitGroup
	for i := range all {
		limit := p.flags.Timeout.Duration
		if i > 0 {
			limit = min(limit, otherTime)
		}
		wg.Go(func() { p.glance(ctx, &all[i], limit) })
	}
	wg.Wait()
	return all
}

// glance tries the protocol that a port should speak, and then the other one, each within limit.
func (p *portLook) glance(ctx context.Context, g *glance, limit time.Duration) {
	overRDMA := func() {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		g.mpa = p.meet(limited, g.at, p.flags.Connections.CRC.Value, false)
	}
	overTCP := func() {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		g.rpc.tried = true
		g.rpc.nfs, g.rpc.other = callBoth(limited, g.at.Addr())
	}
	switch {
	case g.at.Scheme == reach.SchemeRoCE:
		p.roce.found() // first wait for the check whether the port is free here
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		g.roce = p.meetRoCE(limited, g.at)
	case g.at.Scheme == reach.SchemeSCTP:
		overRDMA()
	case g.at.OverRDMA():
		if overRDMA(); !g.mpa.answered() && !words.Dialling(g.mpa.err) {
			overTCP()
		}
	default:
		if overTCP(); !g.rpc.replied() && !words.Dialling(g.rpc.nfs) {
			overRDMA()
		}
	}
}

// speaker returns what the port speaks.
func (g *glance) speaker() speaker {
	err := g.error()
	switch {
	case g.at.Scheme == reach.SchemeRoCE && (err == nil || errors.As(err, new(*transport.RejectError))):
		return speaksRoCE
	case g.mpa.answered():
		return speaksIWARP
	case g.rpc.replied():
		return speaksRPC
	case errors.Is(err, words.ConnRefused), errors.Is(err, roce.ErrRefused):
		return nobody
	case words.Dialling(err) && errors.Is(err, words.ConnReset):
		// before this end knew of the connection
		return endsAll
	case words.TimedOut(err) && (words.Dialling(err) || g.at.OverUDP()):
		return silent
	case words.Dialling(err):
		return unreachable
	case words.TimedOut(err):
		return speaksNot
	case words.EndedByPeer(g.mpa.err) && !errors.Is(g.mpa.err, mpa.ErrNotMPA) && words.EndedByPeer(g.rpc.nfs):
		return endsAll
	}
	return speaksOther
}

// speaksAsAsked reports whether the port speaks the protocol of the URL.
func (g *glance) speaksAsAsked() bool {
	if g.at.Scheme == reach.SchemeRoCE {
		return g.speaker() == speaksRoCE
	}
	return g.speaker() == speaksIWARP && g.at.OverRDMA() || g.speaker() == speaksRPC && !g.at.OverRDMA()
}

// error returns why the protocol of the URL cannot be used at the port.
func (g *glance) error() error {
	switch {
	case g.at.Scheme == reach.SchemeRoCE:
		return g.roce
	case g.at.OverRDMA():
		return g.mpa.err
	}
	return g.rpc.nfs
}

// replied reports whether any call got a reply.
func (a *rpcAnswer) replied() bool { return a.tried && (replied(a.nfs) || replied(a.other)) }

// replied reports whether a call got a reply, even a denial.
func replied(err error) bool {
	return err == nil || reach.Answered(err) || errors.As(err, new(*oncrpc.VersionError))
}
