package users

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
)

// Groups looks up the groups of users.
type Groups struct{ cache *cache[uint32, []uint32] }

// NewGroups returns Groups that ask a database. A nil logger means slog.Default().
func NewGroups(db Database, log *slog.Logger) *Groups {
	log = cmp.Or(log, slog.Default())
	lookup := func(uid uint32) (groups []uint32, missing, err error) {
		groups, err = db.Groups(uid)
		if errors.Is(err, ErrUnknown) {
			return nil, err, nil
		}
		return groups, nil, err
	}
	g := &Groups{newCache(log, lookup, nil)}
	g.cache.missed = func(peer net.Addr, uid uint32, why error) {
		g.cache.log.Fault(peer, "nfs: the user database does not have a user, who gets no groups",
			nil, "uid", uid, "err", why)
	}
	return g
}

// Of returns the groups of a user who calls from a peer, for nfsserver.Config.Groups. It returns
// none if the database does not have the user. If the database does not answer in time, or the
// peer's host has too many look-ups under way, Of returns the groups that the database had last for
// the user, or an error if there are none. The caller must not change the result.
func (g *Groups) Of(peer net.Addr, uid uint32) ([]uint32, error) {
	return g.cache.get(context.Background(), peer, uid)
}
