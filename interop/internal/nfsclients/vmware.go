//go:build interop

package nfsclients

import (
	"errors"

	"github.com/vmware/go-nfs-client/nfs"
	"github.com/vmware/go-nfs-client/nfs/rpc"
)

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
	return volume[*nfs.File, *nfs.EntryPlus]{t, func() error {
		return errors.Join(m.Unmount(), t.Close(), m.Close())
	}}, nil
}
