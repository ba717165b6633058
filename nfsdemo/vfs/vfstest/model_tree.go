package vfstest

import (
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// object is a file of the model that testModelTree compares a file system with.
type object struct {
	h      nfs3.FH
	kind   nfs3.FileType
	names  map[string]*object // of a directory
	parent *object            // of a directory; of the root it is nil
	links  uint32             // of anything else
}

func (o *object) isDir() bool { return o.kind == nfs3.TypeDir }

// holds reports whether d is o or below it.
func (o *object) holds(d *object) bool {
	for d != nil && d != o {
		d = d.parent
	}
	return d != nil
}

// tree is the model, and what is done to it and to the file system.
type tree struct {
	*fixture
	rand *rand.Rand
	root *object
	dirs []*object // in the tree
	gone []nfs3.FH
}

// testModelTree compares random operations with what they do to a model.
func testModelTree(f *fixture) {
	seed := rand.Uint64()
	f.Logf("seed %d", seed)
	top := &object{h: f.fs.Root(), kind: nfs3.TypeDir, names: make(map[string]*object)}
	t := &tree{f, rand.New(rand.NewPCG(seed, 0)), top, []*object{top}, nil}
	for i := range 3000 {
		t.step()
		if i%300 == 299 {
			t.compare()
		}
		if f.Failed() {
			f.Fatalf("after %d operations", i+1)
		}
	}
}

// somewhere returns a directory and a name, which may be there or not.
func (t *tree) somewhere() (*object, string) {
	return t.dirs[t.rand.IntN(len(t.dirs))], string(rune('a' + t.rand.IntN(6)))
}

func (t *tree) step() {
	d, name := t.somewhere()
	switch t.rand.IntN(10) {
	case 0, 1:
		o, _, err := t.fs.Create(t.ctx, root, d.h, name, &nfs3.CreateHow{Mode: nfs3.Guarded})
		t.made("create", d, name, nfs3.TypeReg, o.File, err)
	case 2, 3:
		o, _, err := t.fs.Mkdir(t.ctx, root, d.h, name, &nfs3.Sattr{})
		t.made("mkdir", d, name, nfs3.TypeDir, o.File, err)
	case 4:
		o, _, err := t.fs.Symlink(t.ctx, root, d.h, name, "path", &nfs3.Sattr{})
		t.made("symlink", d, name, nfs3.TypeLnk, o.File, err)
	case 5:
		_, err := t.fs.Remove(t.ctx, root, d.h, name)
		t.remove(d, name, err)
	case 6:
		_, err := t.fs.Rmdir(t.ctx, root, d.h, name)
		t.rmdir(d, name, err)
	case 7:
		to, toName := t.somewhere()
		t.link(d, name, to, toName)
	default:
		to, toName := t.somewhere()
		_, _, err := t.fs.Rename(t.ctx, root, d.h, name, to.h, toName)
		t.rename(d, name, to, toName, err)
	}
	if len(t.gone) > 0 {
		t.wantStale("gone", t.gone[t.rand.IntN(len(t.gone))])
	}
}

// outcome fails the test unless err is one of the statuses; it reports whether it is OK.
func (t *tree) outcome(what string, err error, want ...nfs3.Status) bool {
	t.Helper()
	if !slices.ContainsFunc(want, func(s nfs3.Status) bool {
		return s == nfs3.OK && err == nil || err != nil && errors.Is(err, s)
	}) {
		t.Errorf("%s: %v, want one of %v", what, err, want)
	}
	return err == nil
}

func (t *tree) made(what string, d *object, name string, kind nfs3.FileType, h nfs3.FH, err error) {
	if d.names[name] != nil {
		t.outcome(what, err, nfs3.ErrExist)
		return
	}
	if !t.outcome(what, err, nfs3.OK) {
		return
	}
	o := &object{h: h, kind: kind, links: 1}
	if o.isDir() {
		o.names, o.parent = make(map[string]*object), d
		t.dirs = append(t.dirs, o)
	}
	d.names[name] = o
}

func (t *tree) remove(d *object, name string, err error) {
	switch o := d.names[name]; {
	case o == nil:
		t.outcome("remove", err, nfs3.ErrNoEnt)
	case o.isDir():
		t.outcome("remove", err, nfs3.ErrIsDir)
	case t.outcome("remove", err, nfs3.OK):
		t.unlink(d, name)
	}
}

func (t *tree) rmdir(d *object, name string, err error) {
	switch o := d.names[name]; {
	case o == nil:
		t.outcome("rmdir", err, nfs3.ErrNoEnt)
	case !o.isDir():
		t.outcome("rmdir", err, nfs3.ErrNotDir)
	case len(o.names) > 0:
		t.outcome("rmdir", err, nfs3.ErrNotEmpty)
	case t.outcome("rmdir", err, nfs3.OK):
		t.unlink(d, name)
	}
}

// unlink takes a name from the model.
func (t *tree) unlink(d *object, name string) {
	o := d.names[name]
	delete(d.names, name)
	if o.links--; o.links == 0 {
		t.gone = append(t.gone, o.h)
		t.dirs = slices.DeleteFunc(t.dirs, func(d *object) bool { return d == o })
	}
}

func (t *tree) link(from *object, name string, to *object, toName string) {
	o := from.names[name]
	if o == nil {
		return // there is nothing to call Link with
	}
	_, _, err := t.fs.Link(t.ctx, root, o.h, to.h, toName)
	switch {
	case o.isDir():
		t.outcome("link", err, nfs3.ErrIsDir, nfs3.ErrExist)
	case to.names[toName] != nil:
		t.outcome("link", err, nfs3.ErrExist)
	case t.outcome("link", err, nfs3.OK):
		o.links++
		to.names[toName] = o
	}
}

func (t *tree) rename(from *object, name string, to *object, toName string, err error) {
	o, old := from.names[name], to.names[toName]
	switch {
	case o == nil:
		t.outcome("rename", err, nfs3.ErrNoEnt)
	case o == old:
		t.outcome("rename to itself", err, nfs3.OK)
	case o.holds(to):
		t.outcome("rename below itself", err, nfs3.ErrInval)
	case old != nil && old.holds(from):
		// It has something in it, and so is the wrong kind for a file.
		t.outcome("rename over what it is below", err, nfs3.ErrNotEmpty, nfs3.ErrIsDir)
	case old != nil && o.isDir() && !old.isDir():
		t.outcome("rename of a directory", err, nfs3.ErrNotDir)
	case old != nil && old.isDir() && !o.isDir():
		t.outcome("rename over a directory", err, nfs3.ErrIsDir)
	case old != nil && len(old.names) > 0:
		t.outcome("rename over a full directory", err, nfs3.ErrNotEmpty)
	case t.outcome("rename", err, nfs3.OK):
		if old != nil {
			t.unlink(to, toName)
		}
		delete(from.names, name)
		to.names[toName] = o
		if o.isDir() {
			o.parent = to
		}
	}
}

// compare compares the whole tree.
func (t *tree) compare() {
	for _, d := range t.dirs {
		names := make([]string, 0, len(d.names))
		subs := uint32(0)
		for name, o := range d.names {
			names = append(names, name)
			t.wantName(d.h, name, o.h)
			a := t.attr(o.h)
			if a.Type != o.kind || !o.isDir() && a.Nlink != o.links {
				t.Errorf("%s: %+v, want type %d, %d links", name, a, o.kind, o.links)
			}
			if o.isDir() {
				subs++
			}
		}
		t.wantNames(d.h, names...)
		if d.parent != nil {
			t.wantName(d.h, "..", d.parent.h)
		}
		if a := t.attr(d.h); a.Nlink != 2+subs && a.Nlink != 1 {
			t.Errorf("a directory with %d in it has %d links", subs, a.Nlink)
		}
	}
	for _, h := range t.gone {
		t.wantStale("gone", h)
	}
}
