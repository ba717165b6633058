package memfs

import (
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// FuzzAccounts runs operations, permitted or not, in a file system that is soon full. Names, links
// and accounts must agree, and nothing may be left after everything is removed. Each operation is
// four bytes of the input.
func FuzzAccounts(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x01\x01\x02\x03\x02\x01\x02\x03\x05\x01\x02\x03"))
	f.Add([]byte("\x01\x00\x01\x00\x01\x01\x01\x00\x06\x00\x21\x10\x06\x01\x12\x20\x07\x00\x13\x00"))
	f.Add([]byte("\x00\x00\x00\x00\x08\x00\x00\xff\x07\x00\x10\x00\x04\x00\x00\x00\x08\x00\x01\x7f\x04\x00\x01\x00"))
	f.Add([]byte("\x02\x00\x00\xff\x02\x00\x01\xff\x06\x00\x10\x00\x03\x00\x00\x00\x09\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, script []byte) {
		fs := newFS(t, Config{Capacity: 64 << 10, RootMode: 0o1777})
		creds := []*vfs.Cred{super, {UID: 1, GID: 1}, {UID: 2, GID: 1}}
		handles := []nfs3.FH{fs.Root()}
		for ; len(script) >= 4; script = script[4:] {
			c := creds[int(script[0]>>4)%len(creds)]
			d := handles[int(script[1])%len(handles)]
			e := handles[int(script[1]>>4)%len(handles)]
			name, other := fuzzNames[script[2]%8], fuzzNames[(script[2]>>4)%8]
			n := int(script[3])
			set := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: uint32(n)<<2 | 0o700}}
			var o vfs.Object
			switch script[0] % 10 {
			case 0:
				o, _, _ = fs.Create(t.Context(), c, d, name, &nfs3.CreateHow{Mode: nfs3.CreateMode(n % 3), Set: set})
			case 1:
				o, _, _ = fs.Mkdir(t.Context(), c, d, name, &set)
			case 2:
				o, _, _ = fs.Symlink(t.Context(), c, d, name, strings.Repeat("p", n+1), &set)
			case 3:
				o, _, _ = fs.Mknod(t.Context(), c, d, name, nfs3.FileType(n%9), nfs3.Specdata{Major: 1}, &set)
			case 4:
				fs.Remove(t.Context(), c, d, name)
			case 5:
				fs.Rmdir(t.Context(), c, d, name)
			case 6:
				fs.Rename(t.Context(), c, d, name, e, other)
			case 7:
				fs.Link(t.Context(), c, d, e, name)
			case 8:
				fs.Write(t.Context(), c, d, uint64(n)<<8, vfstest.Bulk(make([]byte, n*64)), nfs3.Unstable)
			case 9:
				set.Size = nfs3.Set64{Set: true, To: uint64(n) << 7}
				fs.SetAttr(t.Context(), c, d, &set, nil)
			}
			if o.Attr.Present {
				handles = append(handles, o.File)
			}
		}
		check(t, fs)
		removeAll(t, fs, fs.Root())
		if len(fs.nodes) != 1 || fs.used.Load() != nodeCharge || fs.pages.inUse != 0 {
			t.Errorf("%d files, %d bytes, %d bytes in pages are left",
				len(fs.nodes), fs.used.Load(), fs.pages.inUse)
		}
	})
}

var fuzzNames = [8]string{"a", "b", "c", "a longer name", ".", "..", "", "d"}

// removeAll empties a directory.
func removeAll(t *testing.T, fs *FS, dir nfs3.FH) {
	all, _ := names(t, fs, dir, 10)
	for _, name := range all {
		o, _, err := fs.Lookup(t.Context(), super, dir, name)
		if err != nil {
			t.Fatal(err)
		}
		if o.Attr.Attr.Type != nfs3.TypeDir {
			remove(t, fs, dir, name)
			continue
		}
		removeAll(t, fs, o.File)
		if _, err := fs.Rmdir(t.Context(), super, dir, name); err != nil {
			t.Fatal(err)
		}
	}
}
