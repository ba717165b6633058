package users

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
)

// Groups knows the groups of users.
type Groups struct {
	log   *faultlog.Log
	cache *cache[uint32, []uint32]
}

// NewGroups returns the groups that a database knows. A nil logger is slog.Default().
func NewGroups(db Database, log *slog.Logger) *Groups {
	log = cmp.Or(log, slog.Default())
	return &Groups{faultlog.New(log), newCache(func(uid uint32) ([]uint32, bool, error) {
		groups, err := db.Groups(uid)
		if errors.Is(err, ErrUnknown) {
			log.Warn("nfs: the groups of a user are not known: he has none", "uid", uid, "err", err)
			return nil, false, nil
		}
		return groups, true, err
	})}
}

// Of returns the groups of a user: none if nobody knows him, or the database does not answer in
// time. It is for nfsserver.Config.Groups. What it returns must not be changed.
func (g *Groups) Of(uid uint32) []uint32 {
	groups, err := g.cache.get(context.Background(), uid)
	if err != nil {
		g.log.Failure("nfs: the groups of users are not known: they have none", unanswered{},
			"uid", uid, "err", err)
		return nil
	}
	return groups
}

// unanswered is what is logged once a minute.
type unanswered struct{}
