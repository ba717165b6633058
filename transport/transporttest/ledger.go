package transporttest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// ledger is the Completer of all requests of an end. It checks that each completes once, in order,
// and when it should.
type ledger struct {
	posting sync.Mutex // held over Post, so that the entries have the order of the requests

	mu       sync.Mutex // guards the fields below
	entries  []*entry
	latest   int // index of the latest completion
	problems []string
}

// entry is the record of one request. It is the request's Context.
type entry struct {
	index    int
	op       transport.Op
	signaled bool
	refused  bool // Post failed
	count    int  // of completions
	err      error
	done     chan struct{} // closed by the first completion
}

// post posts requests to ep with l as their Completer, and records them.
func (l *ledger) post(ep transport.Endpoint, wrs ...*transport.WorkRequest) ([]*entry, error) {
	l.posting.Lock()
	defer l.posting.Unlock()
	l.mu.Lock()
	first := len(l.entries)
	for _, wr := range wrs {
		e := &entry{
			index:    len(l.entries),
			op:       wr.Op,
			signaled: wr.Flags&transport.Signaled != 0,
			done:     make(chan struct{}),
		}
		wr.Done, wr.Context = l, e
		l.entries = append(l.entries, e)
	}
	entries := l.entries[first:]
	l.mu.Unlock()
	err := ep.Post(wrs...)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, e := range entries {
			e.refused = true
			if e.count > 0 {
				l.problem("%v completed, but its Post failed: %v", e, err)
			}
		}
	}
	return entries, err
}

// Complete implements transport.Completer.
func (l *ledger) Complete(wr *transport.WorkRequest, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := wr.Context.(*entry)
	if !ok || e.index >= len(l.entries) || l.entries[e.index] != e {
		l.problem("a request completed that is not the poster's: %+v", wr)
		return
	}
	e.count++
	switch {
	case e.count > 1:
		l.problem("%v completed %d times", e, e.count)
		return
	case e.refused:
		l.problem("%v completed, but its Post failed", e)
	case e.index < l.latest:
		l.problem("%v completed after %v", e, l.entries[l.latest])
	case err == nil && !e.signaled:
		l.problem("%v succeeded and completed, but was not signaled", e)
	}
	if err != nil {
		if problem := unwrapped(err); problem != "" {
			l.problem("%v: error %q %s", e, err, problem)
		}
	}
	l.latest = max(l.latest, e.index)
	e.err = err
	close(e.done)
}

func (l *ledger) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// close checks, after the connection has ended, that all requests have completed.
func (l *ledger) close(t *testing.T, name string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.signaled && !e.refused && e.count == 0 {
			l.problem("%v never completed", e)
		}
	}
	for i, p := range l.problems {
		if i == 10 {
			t.Errorf("%s: and %d more", name, len(l.problems)-i)
			break
		}
		t.Errorf("%s: %s", name, p)
	}
}

func (e *entry) String() string { return fmt.Sprintf("request %d (%v)", e.index, e.op) }
