//go:build interop

package nfsclients

import (
	"bytes"
	"errors"
	"io"
	"syscall"

	"github.com/willscott/go-nfs-client/nfs"
	"github.com/willscott/go-nfs-client/nfs/rpc"
)

// willscottVolume is an export as willscott's client sees it.
type willscottVolume struct {
	mount  *nfs.Mount
	target *nfs.Target
}

// mountWillscott mounts an export. The client calls the port mapper from a port that it draws, and fails if that one is taken: then it
// draws again.
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
	return &willscottVolume{m, t}, nil
}

// dialWillscott connects to MOUNT. Without Addr, NFS is called on the same connection.
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

func (v *willscottVolume) Write(name string, data []byte) error {
	f, err := v.target.OpenFile(name, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func (v *willscottVolume) Read(name string) ([]byte, error) {
	f, err := v.target.Open(name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	// Not by ReadFrom, which would read little at a time.
	_, err = io.CopyBuffer(struct{ io.Writer }{&b}, struct{ io.Reader }{f}, make([]byte, readSize))
	return b.Bytes(), err
}

func (v *willscottVolume) List(dir string) (map[string]int64, error) {
	entries, err := v.target.ReadDirPlus(dir)
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]int64)
	for _, e := range entries {
		if !e.IsDir() {
			sizes[e.Name()] = e.Size()
		}
	}
	return sizes, nil
}

func (v *willscottVolume) Mkdir(name string) error {
	_, err := v.target.Mkdir(name, 0o755)
	return err
}

func (v *willscottVolume) Remove(name string) error    { return v.target.Remove(name) }
func (v *willscottVolume) RemoveAll(name string) error { return v.target.RemoveAll(name) }

func (v *willscottVolume) Close() error {
	err := v.mount.Unmount()
	if v.target.Client != v.mount.Client {
		v.target.Close()
	}
	v.mount.Close()
	return err
}
