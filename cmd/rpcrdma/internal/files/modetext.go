package files

import (
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// typeLetters are the types as ls prints them, typeNames as stat does.
var (
	typeLetters = map[nfs3.FileType]byte{nfs3.TypeReg: '-', nfs3.TypeDir: 'd', nfs3.TypeBlk: 'b', nfs3.TypeChr: 'c',
		nfs3.TypeLnk: 'l', nfs3.TypeSock: 's', nfs3.TypeFIFO: 'p'}
	typeNames = map[nfs3.FileType]string{nfs3.TypeReg: "regular file", nfs3.TypeDir: "directory",
		nfs3.TypeBlk: "block special file",
		nfs3.TypeChr: "character special file", nfs3.TypeLnk: "symbolic link", nfs3.TypeSock: "socket",
		nfs3.TypeFIFO: "fifo"}
)

// modeText returns the type and the mode as ls prints them, such as drwxr-xr-x.
func modeText(kind nfs3.FileType, mode uint32) string {
	b := []byte("?" + cli.Permissions(mode))
	if c, ok := typeLetters[kind]; ok {
		b[0] = c
	}
	for _, s := range []struct {
		bit  uint32
		at   int
		with byte // where execute is set, too
	}{{0o4000, 3, 's'}, {0o2000, 6, 's'}, {0o1000, 9, 't'}} {
		switch {
		case mode&s.bit == 0:
		case b[s.at] == 'x':
			b[s.at] = s.with
		default:
			b[s.at] = s.with - 'a' + 'A'
		}
	}
	return string(b)
}

// isDevice reports whether a file has the numbers of a device.
func isDevice(a *nfs3.Fattr) bool { return a.Type == nfs3.TypeBlk || a.Type == nfs3.TypeChr }
