package main

import (
	"context"
	"log/slog"
	"net"
	"net/netip"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// admitting is a listener that takes connections from some networks only, or from all if there are none.
type admitting struct {
	net.Listener
	allow   []netip.Prefix
	log     *slog.Logger
	refused bool // one has been, and was logged aloud
}

// Accept returns the next connection that is admitted, and closes those before it that are not.
func (a *admitting) Accept() (net.Conn, error) {
	for {
		conn, err := a.Listener.Accept()
		if err != nil || a.admits(conn.RemoteAddr()) {
			return conn, err
		}
		conn.Close()
		level := slog.LevelDebug
		if !a.refused { // lest a stranger fill the log
			a.refused = true
			level = slog.LevelWarn
		}
		a.log.Log(context.Background(), level, "client refused, whom --allow does not name", "client", conn.RemoteAddr())
	}
}

func (a *admitting) admits(addr net.Addr) bool {
	return len(a.allow) == 0 || peerhost.Of(addr).In(a.allow)
}
