package roce

import "github.com/rpcrdma/go-rpcrdma/transport/roce/cm"

// maxPast is how many requests are remembered that are over.
const maxPast = 256

// past remembers the latest requests for connections of peers that are over. A copy of one that
// comes late, as a network may bring it, asks for nothing: it would be taken for another
// connection, which the peer knows nothing of.
type past struct {
	refusals map[question]*cm.REJ
	latest   [maxPast]question
	n        int // how many there have been
}

// add takes note of the end of a request. The refusal is nil if it was granted.
func (p *past) add(q question, refusal *cm.REJ) {
	if p.refusals == nil {
		p.refusals = make(map[question]*cm.REJ)
	}
	if refusal == nil {
		refusal = &cm.REJ{Remote: q.id, About: cm.AboutREQ, Reason: cm.StaleConnection}
	}
	at := &p.latest[p.n%maxPast]
	if p.n >= maxPast {
		delete(p.refusals, *at)
	}
	*at = q
	p.refusals[q] = refusal
	p.n++
}

// refusal is what a copy of a request is answered with, or nil.
func (p *past) refusal(q question) *cm.REJ { return p.refusals[q] }
