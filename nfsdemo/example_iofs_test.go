package nfsdemo_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"math"
	"path"
	"sync"
	"testing/fstest"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// served is an fs.FS as a vfs.FS. It is exported read-only, so that the server calls none of the
// methods that change something: those are the nil vfs.FS's. A handle is the file system's ID and the
// number of a path, which it gets when it is looked up: after a restart of the server handles are
// stale.
type served struct {
	vfs.FS
	files fs.FS
	id    uint64

	mu      sync.Mutex // guards what follows
	paths   []string   // by number
	numbers map[string]uint64
}

func newServed(files fs.FS, id uint64) *served {
	s := &served{files: files, id: id, numbers: make(map[string]uint64)}
	s.handle(".")
	return s
}

// handle returns the handle of a path.
func (s *served) handle(p string) nfs3.FH {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.numbers[p]
	if !ok {
		n = uint64(len(s.paths))
		s.numbers[p], s.paths = n, append(s.paths, p)
	}
	return nfs3.MakeFH(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, s.id), n))
}

// path returns the path of a handle.
func (s *served) path(h nfs3.FH) (string, error) {
	b := h.Bytes()
	if len(b) != 16 {
		return "", nfs3.ErrBadHandle
	}
	n := binary.BigEndian.Uint64(b[8:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if n >= uint64(len(s.paths)) {
		return "", nfs3.ErrStale
	}
	return s.paths[n], nil
}

// attr returns the attributes of a path.
func (s *served) attr(p string) (nfs3.Fattr, error) {
	info, err := fs.Stat(s.files, p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nfs3.Fattr{}, nfs3.ErrNoEnt
	case err != nil:
		return nfs3.Fattr{}, fmt.Errorf("%w: %w", nfs3.ErrIO, err)
	}
	h := s.handle(p)
	t := nfs3.TimeFromNanos(max(0, info.ModTime().UnixNano()))
	a := nfs3.Fattr{
		Type: nfs3.TypeReg, Mode: 0o444, Nlink: 1, Size: uint64(info.Size()), Used: uint64(info.Size()),
		FSID: s.id, FileID: 1 + binary.BigEndian.Uint64(h.Bytes()[8:]), Atime: t, Mtime: t, Ctime: t,
	}
	if info.IsDir() {
		a.Type, a.Mode, a.Nlink = nfs3.TypeDir, 0o555, 2
	}
	return a, nil
}

// find returns the path and the attributes of a handle.
func (s *served) find(h nfs3.FH) (string, nfs3.Fattr, error) {
	p, err := s.path(h)
	if err != nil {
		return "", nfs3.Fattr{}, err
	}
	a, err := s.attr(p)
	if errors.Is(err, nfs3.ErrNoEnt) {
		err = nfs3.ErrStale
	}
	return p, a, err
}

func (s *served) ID() uint64    { return s.id }
func (s *served) Root() nfs3.FH { return s.handle(".") }

func (s *served) GetAttr(_ context.Context, h nfs3.FH) (nfs3.Fattr, error) {
	_, a, err := s.find(h)
	return a, err
}

func (s *served) Lookup(_ context.Context, _ *vfs.Cred, dir nfs3.FH, name string) (
	vfs.Object, nfs3.PostOpAttr, error) {
	p, a, err := s.find(dir)
	if err != nil {
		return vfs.Object{}, nfs3.PostOpAttr{}, err
	}
	post := nfs3.PostOpAttrOf(a)
	if a.Type != nfs3.TypeDir {
		return vfs.Object{}, post, nfs3.ErrNotDir
	}
	if err := vfs.CheckName(name, 255); err != nil {
		return vfs.Object{}, post, err
	}
	p = path.Join("/", p, name)[1:] // ".." of the root is the root
	if p == "" {
		p = "."
	}
	found, err := s.attr(p)
	if err != nil {
		return vfs.Object{}, post, err
	}
	return vfs.Object{File: s.handle(p), Attr: nfs3.PostOpAttrOf(found)}, post, nil
}

func (s *served) Access(_ context.Context, _ *vfs.Cred, h nfs3.FH, want nfs3.Access) (
	nfs3.Access, nfs3.PostOpAttr, error) {
	_, a, err := s.find(h)
	if err != nil {
		return 0, nfs3.PostOpAttr{}, err
	}
	may := nfs3.AccessRead
	if a.Type == nfs3.TypeDir {
		may |= nfs3.AccessLookup
	}
	return want & may, nfs3.PostOpAttrOf(a), nil
}

func (s *served) Read(_ context.Context, _ *vfs.Cred, h nfs3.FH, off uint64, n int, r *vfs.ReadResult) error {
	p, a, err := s.find(h)
	if err != nil {
		return err
	}
	r.Attr = nfs3.PostOpAttrOf(a)
	if a.Type == nfs3.TypeDir {
		return nfs3.ErrIsDir
	}
	data, err := fs.ReadFile(s.files, p) // all of it: what an fs.FS has for sure
	if err != nil {
		return fmt.Errorf("%w: %w", nfs3.ErrIO, err)
	}
	data = data[min(off, uint64(len(data))):]
	r.EOF = n >= len(data)
	r.Data = append(r.Data, data[:min(n, len(data))])
	return nil
}

func (s *served) ReadLink(_ context.Context, _ *vfs.Cred, h nfs3.FH) (string, nfs3.PostOpAttr, error) {
	_, a, err := s.find(h)
	if err != nil {
		return "", nfs3.PostOpAttr{}, err
	}
	return "", nfs3.PostOpAttrOf(a), nfs3.ErrInval // links are followed, so there are none
}

// ReadDir has the position of an entry, which fs.ReadDir sorts by name, be its cookie.
func (s *served) ReadDir(_ context.Context, _ *vfs.Cred, dir nfs3.FH, cookie uint64, _ nfs3.Verifier,
	plus bool, yield func(*nfs3.Entry) bool) (vfs.DirResult, error) {
	p, a, err := s.find(dir)
	if err != nil {
		return vfs.DirResult{}, err
	}
	r := vfs.DirResult{Attr: nfs3.PostOpAttrOf(a)}
	list, err := fs.ReadDir(s.files, p)
	if err != nil {
		return r, nfs3.ErrNotDir
	}
	names := []string{".", ".."}
	for _, e := range list {
		names = append(names, e.Name())
	}
	for i := cookie; i < uint64(len(names)); i++ {
		child := path.Join("/", p, names[i])[1:]
		if child == "" {
			child = "."
		}
		a, err := s.attr(child)
		if err != nil {
			continue // it was removed meanwhile
		}
		e := nfs3.Entry{FileID: a.FileID, Name: names[i], Cookie: i + 1}
		if plus {
			e.Attr, e.File = nfs3.PostOpAttrOf(a), nfs3.PostOpFH{Present: true, FH: s.handle(child)}
		}
		if !yield(&e) {
			return r, nil
		}
	}
	r.EOF = true
	return r, nil
}

func (s *served) Commit(_ context.Context, _ *vfs.Cred, h nfs3.FH, _ uint64, _ uint32) (nfs3.WccData, error) {
	_, a, err := s.find(h)
	if err != nil {
		return nfs3.WccData{}, err
	}
	return nfs3.WccData{After: nfs3.PostOpAttrOf(a)}, nfs3.ErrROFS
}

func (s *served) StatFS(_ context.Context, h nfs3.FH) (nfs3.FSStat, nfs3.PostOpAttr, error) {
	_, a, err := s.find(h)
	if err != nil {
		return nfs3.FSStat{}, nfs3.PostOpAttr{}, err
	}
	return nfs3.FSStat{}, nfs3.PostOpAttrOf(a), nil
}

func (s *served) Info() vfs.FSInfo {
	return vfs.FSInfo{
		MaxFileSize: math.MaxInt64, TimeDelta: nfs3.TimeFromNanos(1), Properties: nfs3.FSFHomogeneous,
		PathConf: nfs3.PathConf{LinkMax: 1, NameMax: 255, NoTrunc: true, CasePreserving: true},
	}
}

// Any fs.FS, such as an embed.FS or a zip.Reader, is exported read-only.
func Example_readOnly() {
	ctx := context.Background()
	files := fstest.MapFS{
		"readme":       {Data: []byte("read me\n")},
		"doc/manual":   {Data: []byte("chapter 1\n")},
		"doc/pictures": {Mode: fs.ModeDir},
	}
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{
		{Path: "/export", FS: newServed(files, 1), Rules: []nfsserver.Rule{{ReadOnly: true}}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(nfs.Programs()...)
	defer srv.Shutdown(ctx)
	fabric := loopback.New()
	l, err := fabric.Listen("server", loopback.Config{})
	if err != nil {
		log.Fatal(err)
	}
	go rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{})

	conn, err := rpcrdma.Dial(ctx, fabric.Dialer(loopback.Config{}), "server", rpcrdma.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := nfsclient.New(conn, oncrpc.AuthNone())
	root, err := client.Mount(ctx, "/export")
	if err != nil {
		log.Fatal(err)
	}
	mounted := nfsfs.New(client, root, nfsfs.Config{Export: "/export"})
	err = fs.WalkDir(mounted.IOFS(ctx), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(mounted.IOFS(ctx), p)
		fmt.Printf("%s: %s", p, b)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Create(ctx, root, "letter", nfs3.CreateHow{})
	fmt.Println(err)
	// Output:
	// doc/manual: chapter 1
	// readme: read me
	// nfs: CREATE letter: NFS3ERR_ROFS
}
