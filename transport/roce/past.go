package roce

import "github.com/rpcrdma/go-rpcrdma/transport/roce/cm"

// maxPast is how many finished requests are remembered.
const maxPast = 256

// past remembers the latest finished requests for connections. The network may deliver a late copy
// of one. Without past, the copy would be taken for a new request that the peer never made.
type past struct {
	refusals map[question]*cm.REJ
	latest   [maxPast]question
	n        int // how many there have been so far
}

// add records the end of a request. The refusal is nil if it was granted.
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

// refusal returns the answer to a copy of a request, or nil if the request is not known.
func (p *past) refusal(q question) *cm.REJ { return p.refusals[q] }
