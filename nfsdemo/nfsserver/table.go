package nfsserver

import (
	"errors"
	"fmt"
)

// table is the exports of a server at one time. It does not change.
type table struct {
	list []*export
	byID map[uint64]*export // by the ID of the file system
}

// ErrBlocks is the error of SetExports for a file system that may block, where the server was made
// for such as do not.
var ErrBlocks = errors.New("its file system may block, and Config.Blocking is not set")

// ErrNoGSS is the error of New and of SetExports for an export whose rules name a flavour of
// RPCSEC_GSS, where Config.GSS is not set. It is wrapped by one that names export and flavour.
var ErrNoGSS = errors.New("the server does not take RPCSEC_GSS")

// checkFlavors returns an error that wraps ErrNoGSS, or nil.
func (s *Server) checkFlavors(x *Export) error {
	for i := range x.Rules {
		for _, f := range x.Rules[i].Flavors {
			if f.Proves() && !s.gss {
				return fmt.Errorf("nfsserver: export %q: sec=%v: %w", x.Path, f, ErrNoGSS)
			}
		}
	}
	return nil
}

// SetExports replaces the exports. A file system that was exported before, under the same path,
// keeps what is counted of it; its clients notice nothing unless the rules are others now. The
// handles of one that is exported no more are stale (nfs3.ErrStale) from now on. Calls that have
// begun end by the rules by which they have begun. With an error nothing changes.
func (s *Server) SetExports(exports []Export) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	old := s.table.Load()
	t := &table{byID: make(map[uint64]*export)}
	for _, x := range exports {
		if err := t.add(x, old); err != nil {
			return fmt.Errorf("nfsserver: export %q: %w", x.Path, err)
		}
		if err := s.checkFlavors(&x); err != nil {
			return err
		}
		if !s.blocking && !x.FS.Info().NonBlocking {
			return fmt.Errorf("nfsserver: export %q: %w", x.Path, ErrBlocks)
		}
	}
	t.cross()
	s.table.Store(t)
	for _, e := range old.list {
		if now := t.byID[e.FS.ID()]; now == nil || now.exportState != e.exportState {
			s.out.Info("nfs: an export is taken away", "export", e.Path)
			e.remove()
		}
	}
	for _, e := range t.list {
		if was := old.byID[e.FS.ID()]; was == nil || was.exportState != e.exportState {
			s.out.Info("nfs: an export is new", "export", e.Path)
		}
	}
	return nil
}

// add adds an export to a table that is to follow another.
func (t *table) add(x Export, old *table) error {
	if err := x.check(); err != nil {
		return err
	}
	for _, e := range t.list {
		if e.Path == x.Path {
			return errors.New("there are two of them")
		}
	}
	id := x.FS.ID()
	if other := t.byID[id]; other != nil {
		return fmt.Errorf("its file system, of ID %#x, is exported as %q already", id, other.Path)
	}
	var state *exportState
	if was := old.byID[id]; was != nil && was.FS == x.FS && was.Path == x.Path {
		state = was.exportState
	}
	e := newExport(x, state)
	t.list = append(t.list, e)
	t.byID[id] = e
	return nil
}
