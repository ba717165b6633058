package serve

import (
	"log/slog"
	"net"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
)

// groups returns the look-up of users' groups for --manage-gids, or nil.
func (c *Config) groups(log *slog.Logger) func(peer net.Addr, uid uint32) ([]uint32, error) {
	if !c.manageGIDs {
		return nil
	}
	return users.NewGroups(users.Host(), log).Of
}
