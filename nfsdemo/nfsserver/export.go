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

// Export is a file system, and the path by which clients mount it.
type Export struct {
	// Path is absolute and clean, such as "/" or "/srv/data", and has at most mount3.MaxPath bytes.
	Path string
	// FS must not be the file system of another export: a handle leads to its file system, and that
	// to the rules.
	FS vfs.FS
	// Rules say which clients may do what. The first rule whose Clients contain the client's
	// address applies; a client that no rule contains may not use the export. No Rules means one
	// zero Rule: everybody may read and write, with SquashRoot.
	Rules []Rule
	// CrossMnt lets clients go from this export into the exports whose paths lie below its own, as
	// if those were mounted there. They need only mount this one. LOOKUP crosses in both
	// directions. Each export keeps its own rules.
	CrossMnt bool
	// Removed, if set, is called after SetExports has removed the export and its last call has
	// ended. The file system can be closed then.
	Removed func()
}

// check checks an export by itself.
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

// export is an Export that is being served. Its rules do not change.
type export struct {
	Path  string
	FS    vfs.FS
	rules []Rule
	// proves: some rule has a flavour that proves who calls.
	proves bool
	*exportState

	crossMnt bool
	above    *crossing              // to the export in which this one is mounted; may be nil
	below    map[string][]*crossing // to the exports mounted here, by the name of the mount point
}

// exportState is what an export keeps when its rules are replaced.
type exportState struct {
	counters exportCounters
	check    check
	gone     atomic.Bool // its root cannot be read
	removed  func()      // may be nil
	once     sync.Once
	users    atomic.Int64 // calls under way; plus away, if removed
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

// away is added to users when an export is removed.
const away = -1 << 40

// begin counts a call for the export, which lasts until end. It returns false if the export has
// been removed.
func (s *exportState) begin() bool {
	if s.users.Add(1) > 0 {
		return true
	}
	s.end()
	return false
}

func (s *exportState) end() { s.left(s.users.Add(-1)) }

// remove calls removed as soon as no call is under way.
func (s *exportState) remove() { s.left(s.users.Add(away)) }

func (s *exportState) left(users int64) {
	if users == away && s.removed != nil {
		s.once.Do(s.removed)
	}
}

// ruleFor returns the rule that applies to a host, or nil.
func (e *export) ruleFor(h peerhost.Host) *Rule {
	for i := range e.rules {
		if r := &e.rules[i]; r.isFor(h) {
			return r
		}
	}
	return nil
}
