package nfsserver

import (
	"path"
	"slices"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// maxMounts bounds the list of mounts. Clients that vanish never remove their mounts, and DUMP
// sends the whole list: 1.3 MiB at most.
const maxMounts = 1024

// mounts remembers who has mounted what. Nothing depends on it.
type mounts struct {
	mu   sync.Mutex     // guards list
	list []mount3.Mount // the oldest first
}

// hostOf returns the name of the host at the other end of a connection.
func hostOf(conn oncrpc.Transport) string {
	host := peerhost.Of(conn.RemoteAddr()).WithoutZone().String()
	return host[:min(len(host), mount3.MaxName)]
}

// add adds a mount as the newest. If the list is full, the oldest is removed.
func (l *mounts) add(host, dir string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := mount3.Mount{Host: host, Path: path.Clean(dir)}
	l.delete(func(o mount3.Mount) bool { return o == m })
	if len(l.list) == maxMounts {
		l.list = slices.Delete(l.list, 0, 1)
	}
	l.list = append(l.list, m)
}

// remove removes a mount, and reports whether the list had it.
func (l *mounts) remove(host, dir string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := mount3.Mount{Host: host, Path: path.Clean(dir)}
	return l.delete(func(o mount3.Mount) bool { return o == m })
}

// removeAll removes all mounts of a host, and reports whether there were any.
func (l *mounts) removeAll(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.delete(func(o mount3.Mount) bool { return o.Host == host })
}

func (l *mounts) delete(gone func(mount3.Mount) bool) bool {
	before := len(l.list)
	l.list = slices.DeleteFunc(l.list, gone)
	return len(l.list) < before
}

func (l *mounts) all() []mount3.Mount {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}
