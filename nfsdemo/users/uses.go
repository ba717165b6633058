package users

import (
	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// uses are the keys of a cache that each host uses.
type uses[K comparable] struct {
	all    map[use[K]]*used[K]
	hosts  map[peerhost.Host]*usesOf[K]
	shares *fair.Shares
}

// use is a host's use of a key.
type use[K comparable] struct {
	host peerhost.Host
	k    K
}

// used is a use in the list of its host.
type used[K comparable] struct {
	use[K]
	place list.Place[used[K]]
}

// usesOf are the uses of a host, the least recent first.
type usesOf[K comparable] struct {
	list list.List[used[K]]
	n    int
}

// newUses returns room for n uses.
func newUses[K comparable](n int64) uses[K] {
	return uses[K]{
		make(map[use[K]]*used[K]), make(map[peerhost.Host]*usesOf[K]), fair.New(n),
	}
}

// add notes that a host uses a key, and reports whether that is new. A host that may use no more
// leaves the key that it has not used for longest; one that uses none takes the place of such a key
// of the host that uses most.
func (u *uses[K]) add(host peerhost.Host, k K) (added bool, left K, leaves bool) {
	id := use[K]{host, k}
	of := u.hosts[host]
	if old := u.all[id]; old != nil {
		of.list.Remove(&old.place)
		of.list.Push(&old.place, old)
		return false, left, false
	}
	if !u.shares.Take(host, 1) {
		from := of
		if from == nil {
			from = u.most()
			u.shares.Give(from.list.First().host, 1)
			u.shares.Take(host, 1)
		}
		old := from.list.First()
		left, leaves = old.k, true
		u.remove(from, old)
	}
	if of = u.hosts[host]; of == nil {
		of = new(usesOf[K])
		u.hosts[host] = of
	}
	fresh := &used[K]{use: id}
	u.all[id] = fresh
	of.list.Push(&fresh.place, fresh)
	of.n++
	return true, left, leaves
}

// most returns the uses of the host that has most.
func (u *uses[K]) most() (most *usesOf[K]) {
	for _, of := range u.hosts {
		if most == nil || of.n > most.n {
			most = of
		}
	}
	return most
}

// remove removes a use, whose share another one gets.
func (u *uses[K]) remove(from *usesOf[K], old *used[K]) {
	delete(u.all, old.use)
	from.list.Remove(&old.place)
	if from.n--; from.n == 0 {
		delete(u.hosts, old.host)
	}
}
