package serve

import (
	"log/slog"
	hostuser "os/user"
	"strconv"
	"sync"
	"time"
)

// Look-ups of groups are kept for as long as Linux's mountd has the kernel keep them, and for no
// more users than these.
const (
	groupsTime = 30 * time.Minute
	maxGrouped = 4096
)

// userGroups knows the groups of users, by the user database of this host.
type userGroups struct {
	log    *slog.Logger
	lookup func(uid uint32) ([]uint32, error)
	now    func() time.Time

	mu    sync.Mutex // guards known
	known map[uint32]knownGroups
}

// knownGroups is the groups of a user, and until when that is believed.
type knownGroups struct {
	groups []uint32
	until  time.Time
}

// groups returns what knows the groups of users, for --manage-gids, or nil.
func (c *Config) groups(log *slog.Logger) func(uid uint32) []uint32 {
	if !c.manageGIDs {
		return nil
	}
	g := &userGroups{log: log, lookup: lookupGroups, now: time.Now, known: make(map[uint32]knownGroups)}
	return g.of
}

// of returns the groups of a user: none if nobody knows him. It does not change them.
func (g *userGroups) of(uid uint32) []uint32 {
	g.mu.Lock()
	k, ok := g.known[uid]
	g.mu.Unlock()
	if ok && g.now().Before(k.until) {
		return k.groups
	}
	groups, err := g.lookup(uid)
	if err != nil {
		g.log.Warn("the groups of a user are not known: he has none", "uid", uid, "err", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) >= maxGrouped {
		clear(g.known)
	}
	g.known[uid] = knownGroups{groups, g.now().Add(groupsTime)}
	return groups
}

// lookupGroups asks the user database of this host.
func lookupGroups(uid uint32) (groups []uint32, err error) {
	u, err := hostuser.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return nil, err
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, err
		}
		groups = append(groups, uint32(n))
	}
	return groups, nil
}
