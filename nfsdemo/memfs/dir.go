package memfs

import (
	"cmp"
	"slices"
)

// dir is the contents of a directory, without "." and "..".
type dir struct {
	byName map[string]*dirent
	// list is by ascending cookie. A cookie is given to a name when it is entered
	// and never again, so that it means the same however the directory changes.
	list       []*dirent
	lastCookie uint64
}

type dirent struct {
	name   string
	cookie uint64
	node   *node
}

// The cookies of the names that are not in dir.list.
const (
	dotCookie    = 1
	dotDotCookie = 2
)

func (d *dir) init() {
	d.byName = make(map[string]*dirent)
	d.lastCookie = dotDotCookie
}

// enter adds a name that is not there yet.
func (d *dir) enter(name string, n *node) {
	d.lastCookie++
	e := &dirent{name, d.lastCookie, n}
	d.byName[name] = e
	d.list = append(d.list, e)
}

// behind returns the entries behind a cookie.
func (d *dir) behind(cookie uint64) []*dirent {
	i, found := slices.BinarySearchFunc(d.list, cookie, func(e *dirent, c uint64) int {
		return cmp.Compare(e.cookie, c)
	})
	if found {
		i++
	}
	return d.list[i:]
}
