package nfsserver

import (
	"errors"
	"fmt"
)

// table has the exports of a server. It does not change; SetExports makes a new one.
type table struct {
	list []*export
	byID map[uint64]*export // by the ID of the file system
}

// ErrBlocks is the error of SetExports for a file system that may block, if Config.Blocking was not
// set.
var ErrBlocks = errors.New("its file system may block, and Config.Blocking is not set")

// ErrNoGSS is the error of New and SetExports for an export whose rules name a flavour of
// RPCSEC_GSS, if Config.GSS was not set. Errors that wrap it name the export and the flavour.
var ErrNoGSS = errors.New("the server does not take RPCSEC_GSS")

// checkFlavors returns nil, or an error that wraps ErrNoGSS.
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

// SetExports replaces the exports. Clients of an export that keeps its path and file system notice
// only new rules, and its counters go on. Handles of a removed export become stale (nfs3.ErrStale).
// Calls under way finish under the old rules. If SetExports returns an error, nothing has changed.
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

// add adds an export to a table that will replace old.
func (t *table) add(x Export, old *table) error {
	if err := x.check(); err != nil {
		return err
	}
	for _, e := range t.list {
		if e.Path == x.Path {
			return errors.New("another export has the same path")
		}
	}
	id := x.FS.ID()
	if other := t.byID[id]; other != nil {
		return fmt.Errorf("its file system (ID %#x) is already exported as %q", id, other.Path)
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
