package nfsfs

import (
	"io/fs"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

var types = map[nfs3.FileType]fs.FileMode{
	nfs3.TypeReg:  0,
	nfs3.TypeDir:  fs.ModeDir,
	nfs3.TypeBlk:  fs.ModeDevice,
	nfs3.TypeChr:  fs.ModeDevice | fs.ModeCharDevice,
	nfs3.TypeLnk:  fs.ModeSymlink,
	nfs3.TypeSock: fs.ModeSocket,
	nfs3.TypeFIFO: fs.ModeNamedPipe,
}

var modeBits = []struct {
	mode fs.FileMode
	nfs  uint32
}{
	{fs.ModeSetuid, nfs3.ModeSetUID},
	{fs.ModeSetgid, nfs3.ModeSetGID},
	{fs.ModeSticky, nfs3.ModeSticky},
}

// fileMode returns type and mode of a file as an fs.FileMode.
func fileMode(a *nfs3.Fattr) fs.FileMode {
	t, ok := types[a.Type]
	if !ok {
		t = fs.ModeIrregular
	}
	m := t | fs.FileMode(a.Mode&nfs3.ModePerm)
	for _, b := range modeBits {
		if a.Mode&b.nfs != 0 {
			m |= b.mode
		}
	}
	return m
}

// SattrMode returns the mode for an nfs3.Sattr that has the permissions of m and its setuid, setgid
// and sticky bits.
func SattrMode(m fs.FileMode) nfs3.Set32 {
	to := uint32(m.Perm())
	for _, b := range modeBits {
		if m&b.mode != 0 {
			to |= b.nfs
		}
	}
	return nfs3.Set32{Set: true, To: to}
}
