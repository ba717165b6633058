package users

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
)

// Groups looks up the groups of users.
type Groups struct {
	log   *faultlog.Log
	cache *cache[uint32, []uint32]
}

// NewGroups returns Groups that ask a database. A nil logger means slog.Default().
func NewGroups(db Database, log *slog.Logger) *Groups {
	log = cmp.Or(log, slog.Default())
	return &Groups{faultlog.New(log), newCache(func(uid uint32) ([]uint32, bool, error) {
		groups, err := db.Groups(uid)
		if errors.Is(err, ErrUnknown) {
			log.Warn("nfs: the user database does not have a user, who gets no groups", "uid", uid, "err", err)
			return nil, false, nil
		}
		return groups, true, err
	})}
}

// Of returns the groups of a user, for nfsserver.Config.Groups. It returns none if the database
// does not have the user, or does not answer in time. The caller must not change the result.
func (g *Groups) Of(uid uint32) []uint32 {
	groups, err := g.cache.get(context.Background(), uid)
	if err != nil {
		g.log.Failure("nfs: cannot look up the groups of a user, who gets none", unanswered{},
			"uid", uid, "err", err)
		return nil
	}
	return groups
}

// unanswered is the key of a message that is logged once a minute.
type unanswered struct{}
