package main

import (
	"context"
	"errors"
	"net"
	"path"
	"sync"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/util"
	"github.com/willscott/go-nfs"
	"github.com/willscott/go-nfs/helpers"
	"github.com/willscott/go-nfs/helpers/memfs"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// goNFSHandles is the size of the handle cache in go-nfs's examples.
const goNFSHandles = 1024

// goNFSServer is a server of willscott/go-nfs.
type goNFSServer struct {
	listener net.Listener
	conns    *keeper
	served   chan error
}

func listenGoNFS(ctx context.Context, s paired.Sockets, w workload) (paired.Server, error) {
	fs := memfs.New()
	handles := goNFSHandles
	var err error
	if w.op == opList {
		handles += 2 * w.size // one reply hands out half of them
		err = goNFSEntries(fs, w.size)
	} else {
		data := make([]byte, fileSize)
		content(data, 0)
		err = util.WriteFile(fs, fileName, data, 0o666)
	}
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{Control: s.Control}).Listen(ctx, "tcp", localhost)
	if err != nil {
		return nil, err
	}
	g := &goNFSServer{listener: l, conns: &keeper{Listener: l}, served: make(chan error, 1)}
	handler := helpers.NewCachingHandler(helpers.NewNullAuthHandler(fs), handles)
	srv := &nfs.Server{Handler: handler, Context: context.WithoutCancel(ctx)}
	go func() { g.served <- srv.Serve(g.conns) }()
	return g, nil
}

// goNFSEntries makes the directory with n files.
func goNFSEntries(fs billy.Filesystem, n int) error {
	for i := range n {
		f, err := fs.Create(path.Join(dirName, entryName(i)))
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (g *goNFSServer) Addr() string { return at(g.listener.Addr()).String() }

// Close stops serving, and closes the connections, which go-nfs leaves open.
func (g *goNFSServer) Close() error {
	err := g.listener.Close()
	if served := <-g.served; !errors.Is(served, net.ErrClosed) {
		err = errors.Join(err, served)
	}
	g.conns.end()
	return err
}

// keeper is a listener that remembers its connections.
type keeper struct {
	net.Listener
	mu    sync.Mutex // guards conns
	conns []net.Conn
}

func (k *keeper) Accept() (net.Conn, error) {
	c, err := k.Listener.Accept()
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.conns = append(k.conns, c)
	return c, nil
}

// end closes the connections.
func (k *keeper) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.conns {
		_ = c.Close() // go-nfs may have closed it
	}
}
