package users

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
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
	g.cache.missed = func(uid uint32, why error) {
		g.cache.log.Warning("nfs: the user database does not have a user, who gets no groups",
			unanswered{}, "uid", uid, "err", why)
	}
	return g
}

// Of returns the groups of a user, for nfsserver.Config.Groups. It returns none if the database
// does not have the user. If the database does not answer in time, Of returns the groups that it
// had last for the user, or an error if it had none. The caller must not change the result.
func (g *Groups) Of(uid uint32) ([]uint32, error) { return g.cache.get(context.Background(), uid) }
