package nfsserver

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Export is a file system under the path by which clients mount it.
type Export struct {
	Path string // absolute and clean, such as "/" or "/srv/data"; at most mount3.MaxPath bytes
	FS   vfs.FS // not that of another export: the file system of a handle says whose rules hold
	// Rules say what whom is allowed. The first whose Clients a peer is among holds; who is among
	// none may not use the export. No rules are one that is zero: for all, with SquashRoot.
	Rules []Rule
	// CrossMnt has LOOKUP lead from here into the exports whose paths lie below this one's, as into
	// what is mounted there, and from their roots back: clients see them by the mount of this one.
	// Rules hold for each export by itself.
	CrossMnt bool
	// Removed, if set, is called when the export has been taken from the server by SetExports and
	// the last call for it has ended: the file system can be closed then.
	Removed func()
}

// check says what is wrong with an export by itself.
func (x *Export) check() error {
	switch {
	case !path.IsAbs(x.Path) || path.Clean(x.Path) != x.Path:
		return errors.New("the path is not absolute and clean")
	case len(x.Path) > mount3.MaxPath:
		return fmt.Errorf("the path is longer than %d bytes", mount3.MaxPath)
	case x.FS == nil:
		return errors.New("no file system")
	}
	for i := range x.Rules {
		if err := x.Rules[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// export is an Export that is served, by rules that do not change.
type export struct {
	Path  string
	FS    vfs.FS
	rules []Rule
	// proves: by a rule of them there are flavours that prove who calls.
	proves bool
	*exportState

	crossMnt bool
	above    *crossing              // to the export in which this one is mounted; nil: none
	below    map[string][]*crossing // to those mounted here, by the name of the mount point
}

// exportState is what an export keeps when it gets other rules.
type exportState struct {
	counters exportCounters
	check    check
	gone     atomic.Bool // its root cannot be had
	removed  func()      // may be nil
	once     sync.Once
	users    atomic.Int64 // calls for it, and away
}

func newExport(x Export, state *exportState) *export {
	e := &export{Path: x.Path, FS: x.FS, exportState: state, crossMnt: x.CrossMnt}
	if state == nil {
		e.exportState = new(exportState)
	}
	e.removed = x.Removed
	for _, r := range x.Rules {
		e.rules = append(e.rules, r.clone())
	}
	if len(x.Rules) == 0 {
		e.rules = []Rule{Rule{}.clone()}
	}
	e.proves = slices.ContainsFunc(e.rules, func(r Rule) bool { return r.proves() })
	return e
}

// away is added to users when an export is taken away.
const away = -1 << 40

// begin takes note of a call for the export, until end. It reports false if there is none any more.
func (s *exportState) begin() bool {
	if s.users.Add(1) > 0 {
		return true
	}
	s.end()
	return false
}

func (s *exportState) end() { s.left(s.users.Add(-1)) }

// remove has removed be called when no call is under way any more.
func (s *exportState) remove() { s.left(s.users.Add(away)) }

func (s *exportState) left(users int64) {
	if users == away && s.removed != nil {
		s.once.Do(s.removed)
	}
}

// ruleFor returns the rule that holds for a host, or nil.
func (e *export) ruleFor(h peerhost.Host) *Rule {
	for i := range e.rules {
		if r := &e.rules[i]; r.isFor(h) {
			return r
		}
	}
	return nil
}
