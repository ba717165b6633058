package main

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// admission takes connections from some networks only, or from all if there are none.
type admission struct {
	allow []netip.Prefix
	log   *slog.Logger
	aloud sync.Once // one is logged so, lest strangers fill the log
}

var errNotAllowed = errors.New("--allow does not name the client")

func (a *admission) admit(c oncrpc.ConnInfo) (release func(), err error) {
	if a.admits(c.Remote) {
		return nil, nil
	}
	a.aloud.Do(func() { a.log.Warn("client refused, whom --allow does not name", "client", c.Remote) })
	return nil, errNotAllowed
}

func (a *admission) admits(addr net.Addr) bool {
	return len(a.allow) == 0 || peerhost.Of(addr).In(a.allow)
}
