//go:build interop

package nfsclients

import (
	"bytes"
	"errors"
	"io"

	"github.com/vmware/go-nfs-client/nfs"
	"github.com/vmware/go-nfs-client/nfs/rpc"
)

// vmwareVolume is an export as vmware's client sees it.
type vmwareVolume struct {
	mount  *nfs.Mount
	target *nfs.Target
}

func mountVMware(s Server, export string) (Volume, error) {
	if s.NFS != 0 || s.Mount != 0 {
		return nil, errors.New("this client asks the port mapper for the ports")
	}
	m, err := nfs.DialMount(s.Host)
	if err != nil {
		return nil, err
	}
	t, err := m.Mount(export, rpc.NewAuthUnix("client", 0, 0).Auth())
	if err != nil {
		m.Close()
		return nil, err
	}
	return &vmwareVolume{m, t}, nil
}

func (v *vmwareVolume) Write(name string, data []byte) error {
	f, err := v.target.OpenFile(name, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func (v *vmwareVolume) Read(name string) ([]byte, error) {
	f, err := v.target.Open(name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	// Not by ReadFrom, which would read little at a time.
	_, err = io.CopyBuffer(struct{ io.Writer }{&b}, struct{ io.Reader }{f}, make([]byte, readSize))
	return b.Bytes(), err
}

func (v *vmwareVolume) List(dir string) (map[string]int64, error) {
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

func (v *vmwareVolume) Mkdir(name string) error {
	_, err := v.target.Mkdir(name, 0o755)
	return err
}

func (v *vmwareVolume) Remove(name string) error    { return v.target.Remove(name) }
func (v *vmwareVolume) RemoveAll(name string) error { return v.target.RemoveAll(name) }

func (v *vmwareVolume) Close() error {
	return errors.Join(v.mount.Unmount(), v.target.Close(), v.mount.Close())
}
