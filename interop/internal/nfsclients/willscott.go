//go:build interop

package nfsclients

import (
	"errors"
	"syscall"

	"github.com/willscott/go-nfs-client/nfs"
	"github.com/willscott/go-nfs-client/nfs/rpc"
)

// mountWillscott mounts an export. The client picks a random port to call the port mapper, and
// fails if it is taken, so this tries again.
func mountWillscott(s Server, export string) (v Volume, err error) {
	for range 1000 {
		if v, err = tryWillscott(s, export); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return v, err
}

func tryWillscott(s Server, export string) (Volume, error) {
	m, err := dialWillscott(s)
	if err != nil {
		return nil, err
	}
	t, err := m.Mount(export, rpc.NewAuthUnix("client", 0, 0).Auth())
	if err != nil {
		m.Close()
		return nil, err
	}
	return volume[*nfs.File, *nfs.EntryPlus]{t, func() error {
		err := m.Unmount()
		if t.Client != m.Client {
			t.Close()
		}
		m.Close()
		return err
	}}, nil
}

// dialWillscott connects to MOUNT. Without Addr, the client calls NFS on the same connection.
func dialWillscott(s Server) (*nfs.Mount, error) {
	switch {
	case s.NFS != s.Mount:
		return nil, errors.New("this client has one port for both, if it does not ask the port mapper")
	case s.NFS == 0:
		return nfs.DialMount(s.Host, 0)
	}
	c, err := nfs.DialServiceAtPort(s.Host, s.NFS)
	if err != nil {
		return nil, err
	}
	return &nfs.Mount{Client: c}, nil
}
