package memfs

import "maps"

// dir is the contents of a directory, without "." and "..".
type dir struct {
	byName map[string]*dirent
	most   int // names that byName has had
	list   runs
	// lastCookie is the last that was given to an entry. Each is given once, so that it means
	// the same however the directory changes.
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

// rename gives an entry another name, which is not there yet. Its cookie stays: who renames the
// entries that he has read does not find them again.
func (d *dir) rename(from, to string) {
	e := d.byName[from]
	delete(d.byName, from)
	e.name = to
	d.byName[to] = e
}

// leave takes away a name that is there.
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
