package matrix

import (
	"bytes"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// end is one of the two ends of a connection.
type end int

const (
	client end = iota // which dialed
	server
)

func (e end) String() string { return [...]string{"client", "server"}[e] }

func (e end) peer() end { return 1 - e }

// kind is the kind of an event.
type kind int

const (
	sent kind = iota
	wrote
	read // the data is there once it is complete
	exposed
	revoked // happens more than once to some windows
)

// event is an operation by an end. Events are in the order in which they were posted.
type event struct {
	end    end
	kind   kind
	at     int // when
	ended  int // when a Read completed; 0 if it has not
	data   []byte
	remote transport.Remote // of wrote, read
	asked  int              // bytes, of read

	invalidates bool // of sent
	invalidated transport.STag

	region transport.Region // of exposed
	stag   transport.STag   // of the revoked window; includes invalidation
	access transport.Access
}

// tap records what both ends of a connection do, and passes it on.
type tap struct {
	// Memory from outside the provider is copied, and receives use the provider's memory.
	copies bool

	mu  sync.Mutex // guards what follows
	now int
	log []*event
}

// add appends an event; t.mu is held.
func (t *tap) add(e event) *event {
	t.now++
	e.at = t.now
	t.log = append(t.log, &e)
	return &e
}

// events returns what has been recorded so far.
func (t *tap) events() []event {
	t.mu.Lock()
	defer t.mu.Unlock()
	log := make([]event, len(t.log))
	for i, e := range t.log {
		log[i] = *e
	}
	return log
}

func (t *tap) endpoint(ep transport.Endpoint, e end) transport.Endpoint {
	full, ok := ep.(transporttest.FullEndpoint)
	if !ok {
		full = unpolled{ep.(unpollable)}
	}
	p := &tapped{full, t, e}
	if t.copies {
		return transporttest.WithoutSharedReceives(p)
	}
	return p
}

// unpollable is transporttest.FullEndpoint without transport.Poller.
type unpollable interface {
	transport.Endpoint
	transport.SharedReceiver
	transport.Abandoner
	transport.ProgressReporter
}

// unpolled makes an unpollable endpoint a transport.Poller that leaves all work to the provider.
type unpolled struct{ unpollable }

func (p unpolled) PostPolled(wrs ...*transport.WorkRequest) error { return p.Post(wrs...) }
func (unpolled) Poll()                                            {}

type tapped struct {
	transporttest.FullEndpoint
	t   *tap
	end end
}

// Domain implements transport.Endpoint.
func (p *tapped) Domain() transport.Domain {
	if p.t.copies {
		return withoutImport{p.FullEndpoint.Domain()}
	}
	return p.FullEndpoint.Domain()
}

// withoutImport is a domain that does not implement transport.Importer.
type withoutImport struct{ transport.Domain }

// Post implements transport.Endpoint.
func (p *tapped) Post(wrs ...*transport.WorkRequest) error { return p.post(p.FullEndpoint.Post, wrs) }

// PostPolled implements transport.Poller.
func (p *tapped) PostPolled(wrs ...*transport.WorkRequest) error {
	return p.post(p.FullEndpoint.PostPolled, wrs)
}

// post posts copies of the requests. It holds the lock, so that they are recorded before they
// complete.
func (p *tapped) post(post func(...*transport.WorkRequest) error, wrs []*transport.WorkRequest) error {
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	now, n := p.t.now, len(p.t.log)
	copies := make([]*transport.WorkRequest, len(wrs))
	for i, wr := range wrs {
		e := event{end: p.end, remote: wr.Remote}
		switch wr.Op {
		case transport.OpSend:
			e.kind, e.data = sent, gather(wr.Local)
		case transport.OpSendInvalidate:
			e.kind, e.data, e.invalidates, e.invalidated = sent, gather(wr.Local), true, wr.Invalidate
		case transport.OpWrite:
			e.kind, e.data = wrote, gather(wr.Local)
		case transport.OpRead:
			e.kind, e.asked = read, transport.TotalLen(wr.Local)
		case transport.OpInvalidate:
			e.kind, e.stag = revoked, wr.Invalidate
		}
		c := *wr
		c.Flags |= transport.Signaled
		c.Done = &completion{p.t, wr, p.t.add(e)}
		copies[i] = &c
	}
	err := post(copies...)
	if err != nil {
		p.t.now, p.t.log = now, p.t.log[:n]
	}
	return err
}

// completion stands in for the Completer of a request.
type completion struct {
	t  *tap
	wr *transport.WorkRequest
	e  *event
}

// Complete records the data of a Read.
func (c *completion) Complete(_ *transport.WorkRequest, err error) {
	if err == nil && c.e.kind == read {
		c.t.mu.Lock()
		c.t.now++
		c.e.ended, c.e.data = c.t.now, gather(c.wr.Local)
		c.t.mu.Unlock()
	}
	if err != nil || c.wr.Flags&transport.Signaled != 0 {
		c.wr.Done.Complete(c.wr, err)
	}
}

// Expose implements transport.Endpoint.
func (p *tapped) Expose(dst []transport.Region, list []transport.Slice, access transport.Access) ([]transport.Region, error) {
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	rs, err := p.FullEndpoint.Expose(dst, list, access)
	for _, r := range rs[len(dst):] {
		p.t.add(event{end: p.end, kind: exposed, region: r, access: access})
	}
	return rs, err
}

// Revoke implements transport.Endpoint.
func (p *tapped) Revoke(regions ...transport.Region) error {
	p.t.mu.Lock()
	for _, r := range regions {
		p.t.add(event{end: p.end, kind: revoked, stag: r.STag})
	}
	p.t.mu.Unlock()
	return p.FullEndpoint.Revoke(regions...)
}

func gather(list []transport.Slice) []byte {
	var b bytes.Buffer
	for _, s := range list {
		b.Write(s.Bytes)
	}
	return b.Bytes()
}

var (
	_ transporttest.FullEndpoint = (*tapped)(nil)
)
