// Package iofs exports any [fs.FS] read-only by NFS: an embed.FS, an archive (zip.Reader),
// os.DirFS.
//
//	archive, err := zip.OpenReader("manuals.zip")
//	...
//	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{
//		{Path: "/manuals", FS: iofs.New(archive, iofs.Config{})},
//	}})
//
// Changes fail with nfs3.ErrROFS. Example_readOnly of package nfsdemo is a complete server.
//
// # Handles
//
// A file gets a number when LOOKUP or READDIR first sees it. It keeps the number as long as the FS
// exists, which takes about 200 bytes for each file seen. A handle has the number and random bytes,
// so nobody can guess it. After a restart of the server clients must mount again. A handle stands
// for a path: if the fs.FS replaces the file, the handle leads to the new one.
//
// # Data
//
// Files that implement io.ReaderAt, such as those of embed and os, are read at any offset. Other
// files, such as those in archives, are read whole and kept in memory, up to Config.Memory bytes
// for all files. A larger file is read from its beginning for each READ, which is slow.
//
// # Permissions
//
// All files belong to Config.Owner. They have the permissions that the fs.FS returns, or are
// readable by everybody if it returns none. Symbolic links work if the fs.FS is an [fs.ReadLinkFS].
package iofs

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Config configures an FS.
type Config struct {
	// Owner is the user and group of all files.
	Owner vfs.Cred
	// Memory is how many bytes of files without ReadAt are kept in memory; 0 means 64 MiB.
	Memory int64
}

// New returns files as a file system that cannot be written.
func New(files fs.FS, cfg Config) vfs.FS {
	r := &reader{files: files, owner: cfg.Owner}
	r.contents.limit = cmp.Or(cfg.Memory, 64<<20)
	random := make([]byte, 8)
	rand.Read(random)
	r.id = binary.BigEndian.Uint64(random)
	_, r.links = files.(fs.ReadLinkFS)
	r.root = r.add(nil, ".")
	return vfs.ReadOnly{Reader: r}
}

// reader implements vfs.Reader for an fs.FS.
type reader struct {
	files    fs.FS
	owner    vfs.Cred
	id       uint64
	links    bool // files has symbolic links
	root     *node
	contents contents

	mu    sync.RWMutex // guards nodes, and the children of each
	nodes []*node      // by number, from 1 on
}

// node is a path that was seen.
type node struct {
	number   uint64
	secret   [secretLen]byte
	path     string // in the fs.FS
	parent   *node  // nil of the root
	children map[string]*node
}

// A handle is the file system's ID, the number of the node and its secret.
const (
	secretLen = 16
	handleLen = 8 + 8 + secretLen
)

// maxName is the longest name in bytes.
const maxName = 255

func (n *node) handle(id uint64) nfs3.FH {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, handleLen), id)
	b = binary.BigEndian.AppendUint64(b, n.number)
	return nfs3.MakeFH(append(b, n.secret[:]...))
}

// add makes a node. mu is held, or r is not in use yet.
func (r *reader) add(parent *node, name string) *node {
	n := &node{number: uint64(len(r.nodes)) + 1, path: name, parent: parent}
	rand.Read(n.secret[:])
	if parent != nil {
		n.path = path.Join(parent.path, name)
		if parent.children == nil {
			parent.children = make(map[string]*node)
		}
		parent.children[name] = n
	}
	r.nodes = append(r.nodes, n)
	return n
}

// child returns the node of a name in a directory.
func (r *reader) child(dir *node, name string) *node {
	r.mu.RLock()
	n := dir.children[name]
	r.mu.RUnlock()
	if n != nil {
		return n
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := dir.children[name]; n != nil {
		return n
	}
	return r.add(dir, name)
}

// node returns the node of a handle.
func (r *reader) node(h *nfs3.FH) (*node, error) {
	b := h.Bytes()
	if len(b) != handleLen || binary.BigEndian.Uint64(b) != r.id {
		return nil, nfs3.ErrBadHandle
	}
	number := binary.BigEndian.Uint64(b[8:])
	r.mu.RLock()
	defer r.mu.RUnlock()
	if number == 0 || number > uint64(len(r.nodes)) {
		return nil, nfs3.ErrBadHandle
	}
	n := r.nodes[number-1]
	if subtle.ConstantTimeCompare(b[16:], n.secret[:]) == 0 {
		return nil, nfs3.ErrBadHandle
	}
	return n, nil
}

// file is a node with its present attributes.
type file struct {
	*node
	attr nfs3.Fattr
}

// find returns the file of a handle.
func (r *reader) find(h *nfs3.FH) (file, error) {
	n, err := r.node(h)
	if err != nil {
		return file{}, err
	}
	a, err := r.stat(n)
	if errors.Is(err, nfs3.ErrNoEnt) {
		err = nfs3.ErrStale
	}
	return file{n, a}, err
}

// stat returns the attributes of a node.
func (r *reader) stat(n *node) (nfs3.Fattr, error) {
	info, err := fs.Lstat(r.files, n.path)
	if err != nil {
		return nfs3.Fattr{}, statusOf("stat", err)
	}
	a := nfs3.Fattr{
		Type: nfs3.TypeReg, Mode: uint32(info.Mode().Perm()), Nlink: 1, UID: r.owner.UID, GID: r.owner.GID,
		Size: uint64(max(0, info.Size())), FSID: r.id, FileID: n.number,
	}
	switch m := info.Mode(); {
	case m.IsDir():
		a.Type, a.Nlink = nfs3.TypeDir, 2
	case m.Type() == fs.ModeSymlink && r.links:
		a.Type = nfs3.TypeLnk
	case m.Type() == fs.ModeNamedPipe:
		a.Type = nfs3.TypeFIFO
	case m.Type() == fs.ModeSocket:
		a.Type = nfs3.TypeSock
	case m&fs.ModeCharDevice != 0:
		a.Type = nfs3.TypeChr
	case m&fs.ModeDevice != 0:
		a.Type = nfs3.TypeBlk
	}
	if a.Mode == 0 { // the fs.FS knows no permissions
		a.Mode = 0o444
		if a.Type == nfs3.TypeDir {
			a.Mode = 0o555
		}
	}
	a.Used = a.Size
	t := nfs3.Nearest(info.ModTime()) // 1970 if the fs.FS has no times
	a.Atime, a.Mtime, a.Ctime = t, t, t
	return a, nil
}

// statusOf returns the nfs3.Status for an error of the fs.FS.
func statusOf(op string, err error) error {
	status := nfs3.ErrIO
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		status = nfs3.ErrNoEnt
	case errors.Is(err, fs.ErrPermission):
		status = nfs3.ErrAcces
	}
	return fmt.Errorf("iofs: %s: %w: %w", op, status, err)
}

func (r *reader) ID() uint64    { return r.id }
func (r *reader) Root() nfs3.FH { return r.root.handle(r.id) }

func (r *reader) GetAttr(_ context.Context, h nfs3.FH) (nfs3.Fattr, error) {
	f, err := r.find(&h)
	return f.attr, err
}

func (r *reader) Lookup(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, name string,
) (vfs.Object, nfs3.PostOpAttr, error) {
	d, err := r.find(&dir)
	if err != nil {
		return vfs.Object{}, nfs3.PostOpAttr{}, err
	}
	post := nfs3.PostOpAttrOf(d.attr)
	if d.attr.Type != nfs3.TypeDir {
		return vfs.Object{}, nfs3.PostOpAttr{}, nfs3.ErrNotDir
	}
	if err := vfs.CheckName(name, maxName); err != nil {
		return vfs.Object{}, post, err
	}
	if !vfs.PermOf(&d.attr).Can(c, vfs.MayExec) {
		return vfs.Object{}, post, nfs3.ErrAcces
	}
	n := d.node
	switch {
	case name == ".":
	case name == "..":
		n = d.up()
	case !fs.ValidPath(path.Join(d.path, name)):
		return vfs.Object{}, post, nfs3.ErrNoEnt // not a valid name in an fs.FS
	default:
		n = r.peek(d.node, name)
	}
	a, err := r.stat(n)
	if err != nil {
		return vfs.Object{}, post, err
	}
	if n.number == 0 { // the name exists: remember it
		n = r.child(d.node, name)
		a.FileID = n.number
	}
	return vfs.Object{File: n.handle(r.id), Attr: nfs3.PostOpAttrOf(a)}, post, nil
}

// peek returns the node of a name in a directory. If there is none it returns a temporary node,
// because the name may not exist.
func (r *reader) peek(dir *node, name string) *node {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if n := dir.children[name]; n != nil {
		return n
	}
	return &node{path: path.Join(dir.path, name), parent: dir}
}

// up returns the parent directory. The root's is the root.
func (n *node) up() *node { return cmp.Or(n.parent, n) }

func (r *reader) Access(
	_ context.Context, c *vfs.Cred, h nfs3.FH, want nfs3.Access,
) (nfs3.Access, nfs3.PostOpAttr, error) {
	f, err := r.find(&h)
	if err != nil {
		return 0, nfs3.PostOpAttr{}, err
	}
	const changing = nfs3.AccessModify | nfs3.AccessExtend | nfs3.AccessDelete
	return vfs.PermOf(&f.attr).Access(c, want&^changing), nfs3.PostOpAttrOf(f.attr), nil
}

func (r *reader) ReadLink(
	_ context.Context, _ *vfs.Cred, h nfs3.FH,
) (string, nfs3.PostOpAttr, error) {
	f, err := r.find(&h)
	if err != nil {
		return "", nfs3.PostOpAttr{}, err
	}
	post := nfs3.PostOpAttrOf(f.attr)
	if f.attr.Type != nfs3.TypeLnk {
		return "", post, nfs3.ErrInval
	}
	to, err := fs.ReadLink(r.files, f.path)
	if err != nil {
		return "", post, statusOf("readlink", err)
	}
	return to, post, nil
}

func (r *reader) StatFS(_ context.Context, h nfs3.FH) (nfs3.FSStat, nfs3.PostOpAttr, error) {
	f, err := r.find(&h)
	if err != nil {
		return nfs3.FSStat{}, nfs3.PostOpAttr{}, err
	}
	return nfs3.FSStat{}, nfs3.PostOpAttrOf(f.attr), nil
}

func (r *reader) Info() vfs.FSInfo {
	properties := uint32(nfs3.FSFHomogeneous)
	if r.links {
		properties |= nfs3.FSFSymlink
	}
	return vfs.FSInfo{
		MaxFileSize: math.MaxInt64, TimeDelta: nfs3.Time{Nsec: 1}, Properties: properties,
		PathConf: nfs3.PathConf{LinkMax: 1, NameMax: maxName, NoTrunc: true, CasePreserving: true},
	}
}
