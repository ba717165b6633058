package memfs

import "maps"

// dir has the entries of a directory, without "." and "..".
type dir struct {
	byName map[string]*dirent
	most   int // largest length of byName so far
	list   runs
	// lastCookie is the last cookie that was given out. No cookie is used twice, so it means the
	// same whatever happens to the directory.
	lastCookie uint64
}

type dirent struct {
	name   string
	cookie uint64
	node   *node
}

// Cookies of "." and "..", which are not in dir.list.
const (
	dotCookie    = 1
	dotDotCookie = 2
)

func (d *dir) init() {
	d.byName = make(map[string]*dirent)
	d.lastCookie = dotDotCookie
}

// child returns the node of a name, or nil.
func (d *dir) child(name string) *node {
	if e := d.byName[name]; e != nil {
		return e.node
	}
	return nil
}

// enter adds a name that is not there yet.
func (d *dir) enter(name string, n *node) {
	d.lastCookie++
	e := &dirent{name, d.lastCookie, n}
	d.byName[name] = e
	d.most = max(d.most, len(d.byName))
	d.list.add(e)
}

// rename gives an entry a new name, which must not exist. The cookie stays, so a client that
// renames the entries that it reads does not see them again.
func (d *dir) rename(from, to string) {
	e := d.byName[from]
	delete(d.byName, from)
	e.name = to
	d.byName[to] = e
}

// leave removes a name that exists.
func (d *dir) leave(name string) {
	d.list.remove(d.byName[name].cookie)
	delete(d.byName, name)
	// Maps do not shrink by themselves.
	if n := len(d.byName); n < d.most/4 {
		byName := make(map[string]*dirent, n)
		maps.Copy(byName, d.byName)
		d.byName, d.most = byName, n
	}
}
