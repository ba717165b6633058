//go:build linux

package dirfs

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// aclEntry is an entry of a list: a tag, rights, and the number of a user or group.
type aclEntry struct {
	tag, rights uint16
	id          uint32
}

const none = 1<<32 - 1 // the number in an entry without a user or group

// encodeACL returns a list in the host's encoding.
func encodeACL(list ...aclEntry) []byte {
	b := binary.LittleEndian.AppendUint32(nil, aclVersion)
	for _, e := range list {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.rights)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

// setACL sets a list on a file of the host.
func setACL(t *testing.T, path, attr string, list ...aclEntry) {
	t.Helper()
	err := unix.Setxattr(path, attr, encodeACL(list...), 0)
	if err == unix.EOPNOTSUPP {
		t.Skipf("needs access control lists: %s: %v", path, err)
	}
	must(t, err)
}

// TestACL: a user named in a list has the rights of that entry, more or fewer than the mode shows.
func TestACL(t *testing.T) {
	needRoot(t)
	dir := tempDir(t)
	path := filepath.Join(dir, "file")
	must(t, os.WriteFile(path, []byte("data"), 0o644))
	must(t, os.Chown(path, 100, 200))
	f := newIn(t, Config{Path: dir})
	ctx := t.Context()
	o, _, err := f.Lookup(ctx, super, f.Root(), "file")
	must(t, err)
	const r, w, x = vfs.MayRead, vfs.MayWrite, vfs.MayExec
	base := func(group, mask, other uint16, more ...aclEntry) []aclEntry {
		list := []aclEntry{{aclOwner, r | w, none}}
		for _, e := range more {
			if e.tag == aclUser {
				list = append(list, e)
			}
		}
		list = append(list, aclEntry{aclOwnerGroup, group, none})
		for _, e := range more {
			if e.tag == aclGroup {
				list = append(list, e)
			}
		}
		return append(list, aclEntry{aclMask, mask, none}, aclEntry{aclOther, other, none})
	}
	owner := &vfs.Cred{UID: 100, GID: 1}
	member := &vfs.Cred{UID: 101, GID: 200}
	named := &vfs.Cred{UID: 102, GID: 1}
	staff := &vfs.Cred{UID: 103, GID: 1, GIDs: []uint32{300}}
	both := &vfs.Cred{UID: 104, GID: 200, GIDs: []uint32{300}}
	stranger := &vfs.Cred{UID: 105, GID: 1}
	for _, tt := range []struct {
		name        string
		list        []aclEntry
		who         *vfs.Cred
		read, write bool
	}{
		{"the mask is wider than the group", base(0, r|w, 0, aclEntry{aclUser, r | w, 102}), member, false, false},
		{"the user who is named", base(0, r|w, 0, aclEntry{aclUser, r | w, 102}), named, true, true},
		{"as far as the mask goes", base(0, r, 0, aclEntry{aclUser, r | w, 102}), named, true, false},
		{"nobody else", base(0, r|w, 0, aclEntry{aclUser, r | w, 102}), stranger, false, false},
		{"the owner", base(0, r, 0), owner, true, true},
		{"root", base(0, r, 0), super, true, true},
		{"a user who has less than others", base(r, r, r, aclEntry{aclUser, 0, 102}), named, false, false},
		{"a group that has less than others", base(r, r, r, aclEntry{aclGroup, 0, 300}), staff, false, false},
		{"a group that is named", base(0, r|w, 0, aclEntry{aclGroup, r, 300}), staff, true, false},
		{"two groups", base(r, r|w, 0, aclEntry{aclGroup, w, 300}), both, true, true},
		{"others", base(r|w, r|w, r), stranger, true, false},
		{"the mask gives nothing, so that the host looks no further", base(r, 0, r), member, false, false},
		{"who can execute can read", base(0, r|x, 0, aclEntry{aclUser, x, 102}), named, true, false},
	} {
		setACL(t, path, aclAccess, tt.list...)
		_, _, err := vfstest.Read(ctx, f, tt.who, o.File, 0, 4)
		if got := err == nil; got != tt.read {
			t.Errorf("%s: read: %v, want %v", tt.name, err, tt.read)
		}
		for what, err := range map[string]error{
			"write": first(f.Write(ctx, tt.who, o.File, 0, vfstest.Bulk([]byte("data")), nfs3.Unstable)),
			"size":  first(f.SetAttr(ctx, tt.who, o.File, &nfs3.Sattr{Size: nfs3.Set64{Set: true, To: 4}}, nil)),
		} {
			if got := err == nil; got != tt.write {
				t.Errorf("%s: %s: %v, want %v", tt.name, what, err, tt.write)
			}
		}
		got, _, err := f.Access(ctx, tt.who, o.File, nfs3.AccessModify)
		if may := got != 0; may != tt.write || err != nil {
			t.Errorf("%s: access: %v, %v, want %v", tt.name, may, err, tt.write)
		}
	}
}

// TestDirectoryACL: the list of a directory decides who may look up and enter names.
func TestDirectoryACL(t *testing.T) {
	needRoot(t)
	dir := tempDir(t)
	must(t, os.Mkdir(filepath.Join(dir, "dir"), 0o700))
	must(t, os.Mkdir(filepath.Join(dir, "to"), 0o777))
	must(t, os.Chmod(filepath.Join(dir, "to"), 0o777))
	must(t, os.Mkdir(filepath.Join(dir, "dir", "sub"), 0o755))
	setACL(t, filepath.Join(dir, "dir"), aclAccess, aclEntry{aclOwner, 7, none}, aclEntry{aclUser, 7, 1001},
		aclEntry{aclOwnerGroup, 0, none}, aclEntry{aclMask, 7, none}, aclEntry{aclOther, 0, none})
	f := newIn(t, Config{Path: dir})
	ctx := t.Context()
	d, _, err := f.Lookup(ctx, super, f.Root(), "dir")
	must(t, err)
	to, _, err := f.Lookup(ctx, super, f.Root(), "to")
	must(t, err)
	// The group is the directory's, to which its mode seems to grant everything.
	group := &vfs.Cred{UID: 1002, GID: 0}
	for _, tt := range []struct {
		c    *vfs.Cred
		want error
	}{{group, nfs3.ErrAcces}, {somebody, nil}} {
		for _, step := range []struct {
			what string
			call func() error
		}{
			{"create", func() error { return second(f.Create(ctx, tt.c, d.File, "new", &nfs3.CreateHow{})) }},
			{"lookup", func() error { return second(f.Lookup(ctx, tt.c, d.File, "sub")) }},
			{"readdir", func() error {
				return first(f.ReadDir(ctx, tt.c, d.File, 0, nfs3.Verifier{}, true, func(*nfs3.Entry) bool { return false }))
			}},
			{"rename", func() error { return second(f.Rename(ctx, tt.c, d.File, "new", d.File, "newer")) }},
			{"link", func() error { return second(f.Link(ctx, tt.c, to.File, d.File, "link")) }},
			{"remove", func() error { return first(f.Remove(ctx, tt.c, d.File, "newer")) }},
		} {
			want := tt.want
			if step.what == "link" {
				want = nfs3.ErrIsDir
			}
			if err := step.call(); err != want {
				t.Errorf("%s by %d: %v, want %v", step.what, tt.c.UID, err, want)
			}
		}
	}
	// Moving a directory into another requires write permission on it, which a list may grant.
	if _, _, err := f.Rename(ctx, somebody, d.File, "sub", to.File, "sub"); err != nfs3.ErrAcces {
		t.Errorf("rename of a directory: %v", err)
	}
	setACL(t, filepath.Join(dir, "dir", "sub"), aclAccess, aclEntry{aclOwner, 7, none}, aclEntry{aclUser, 2, 1001},
		aclEntry{aclOwnerGroup, 0, none}, aclEntry{aclMask, 7, none}, aclEntry{aclOther, 0, none})
	if _, _, err := f.Rename(ctx, somebody, d.File, "sub", to.File, "sub"); err != nil {
		t.Errorf("rename of a directory that may be written: %v", err)
	}
}

// TestDefaultACL: a new file grants nobody more than the default list of its directory.
func TestDefaultACL(t *testing.T) {
	needRoot(t)
	dir := tempDir(t)
	must(t, os.Chmod(dir, 0o777))
	setACL(t, dir, aclDefault, aclEntry{aclOwner, 7, none}, aclEntry{aclUser, 7, 1002}, aclEntry{aclOwnerGroup, 5, none},
		aclEntry{aclMask, 5, none}, aclEntry{aclOther, 0, none})
	f := newIn(t, Config{Path: dir})
	ctx := t.Context()
	set := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o666}}
	file, _, err := f.Create(ctx, somebody, f.Root(), "file", &nfs3.CreateHow{Mode: nfs3.Guarded, Set: set})
	if got := file.Attr.Attr.Mode; got != 0o640 || err != nil {
		t.Errorf("create: mode %o, %v, want 640", got, err)
	}
	set.Mode.To = 0o1777
	sub, _, err := f.Mkdir(ctx, somebody, f.Root(), "sub", &set)
	if got := sub.Attr.Attr.Mode; got != 0o1750 || err != nil {
		t.Errorf("mkdir: mode %o, %v, want 1750", got, err)
	}
	named := &vfs.Cred{UID: 1002, GID: 1002}
	if got, _, err := f.Access(ctx, named, file.File, nfs3.AccessRead|nfs3.AccessModify); got != nfs3.AccessRead || err != nil {
		t.Errorf("access of who is named: %v, %v", got, err)
	}
	deep, _, err := f.Create(ctx, somebody, sub.File, "file", &nfs3.CreateHow{})
	if got := deep.Attr.Attr.Mode; got != 0o640 || err != nil {
		t.Errorf("create below: mode %o, %v, want 640", got, err)
	}
}

// TestACLLimit: without a mask, the group's entry limits the mode of a new file.
func TestACLLimit(t *testing.T) {
	l := acl(encodeACL(aclEntry{aclOwner, 6, none}, aclEntry{aclOwnerGroup, 4, none}, aclEntry{aclOther, 1, none})[aclHead:])
	if got := l.limit(0o7777); got != 0o7641 {
		t.Errorf("mode %o, want 7641", got)
	}
}

// TestReadACL: a list longer than the first buffer is read whole, and malformed lists are ignored.
func TestReadACL(t *testing.T) {
	long := make([]aclEntry, 1000)
	for _, tt := range []struct {
		name string
		list []byte
		err  error
		n    int
		want error
	}{
		{"none", nil, unix.ENODATA, 0, nil},
		{"no lists", nil, unix.EOPNOTSUPP, 0, nil},
		{"failure", nil, unix.EIO, 0, unix.EIO},
		{"empty", encodeACL(), nil, 0, nil},
		{"one", encodeACL(aclEntry{}), nil, 1, nil},
		{"long", encodeACL(long...), nil, len(long), nil},
		{"another version", []byte{3, 0, 0, 0}, nil, 0, unix.EIO},
		{"cut off", encodeACL(aclEntry{})[:7], nil, 0, unix.EIO},
		{"no version", []byte{2, 0}, nil, 0, unix.EIO},
	} {
		l, err := readACL(func(_, _ string, dest []byte) (int, error) {
			if tt.err == nil && len(dest) < len(tt.list) {
				return 0, unix.ERANGE
			}
			return copy(dest, tt.list), tt.err
		}, "", aclAccess)
		n := 0
		l.entries(func(uint16, uint32, uint32) { n++ })
		if n != tt.n || err != tt.want {
			t.Errorf("%s: %d entries, %v, want %d, %v", tt.name, n, err, tt.n, tt.want)
		}
	}
}
