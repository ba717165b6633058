package vfs

import (
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

var (
	root     = &Cred{}
	owner    = &Cred{UID: 1, GID: 10}
	member   = &Cred{UID: 2, GID: 20, GIDs: []uint32{30, 10}}
	stranger = &Cred{UID: 3, GID: 20}
)

func file(mode uint32) Perm { return Perm{nfs3.TypeReg, mode, 1, 10} }

func dir(mode uint32) Perm { return Perm{nfs3.TypeDir, mode, 1, 10} }

func TestCan(t *testing.T) {
	for _, tt := range []struct {
		name                          string
		p                             Perm
		want                          uint32
		root, owner, member, stranger bool
	}{
		{"read", file(0o444), MayRead, true, true, true, true},
		{"read", file(0o440), MayRead, true, true, true, false},
		{"read", file(0o044), MayRead, true, false, true, true},
		{"read", file(0o404), MayRead, true, true, false, true},
		{"read and write", file(0o642), MayRead | MayWrite, true, true, false, false},
		{"execute what nobody may", file(0o666), MayExec, false, false, false, false},
		{"execute what others may", file(0o001), MayExec, true, false, false, true},
		{"search what nobody may", dir(0o666), MayExec, true, false, false, false},
		{"search", dir(0o710), MayExec, true, true, true, false},
		{"set bits count for nothing", file(0o7000), MayExec, false, false, false, false},
	} {
		for c, want := range map[*Cred]bool{root: tt.root, owner: tt.owner, member: tt.member, stranger: tt.stranger} {
			if got := tt.p.Can(c, tt.want); got != want {
				t.Errorf("%s, mode %o, user %d: %v, want %v", tt.name, tt.p.Mode, c.UID, got, want)
			}
		}
	}
}

func TestCheckSet(t *testing.T) {
	const ok, perm, acces, inval = nfs3.OK, nfs3.ErrPerm, nfs3.ErrAcces, nfs3.ErrInval
	to := func(n uint32) nfs3.Set32 { return nfs3.Set32{Set: true, To: n} }
	size := nfs3.Sattr{Size: nfs3.Set64{Set: true}}
	at := func(how nfs3.TimeHow, nsec uint32) nfs3.SetTime {
		return nfs3.SetTime{How: how, To: nfs3.Time{Nsec: nsec}}
	}
	link, fifo := file(0o777), file(0o777)
	link.Type, fifo.Type = nfs3.TypeLnk, nfs3.TypeFIFO
	for _, tt := range []struct {
		name                          string
		p                             Perm
		set                           nfs3.Sattr
		root, owner, member, stranger nfs3.Status
	}{
		{"nothing", file(0), nfs3.Sattr{}, ok, ok, ok, ok},
		{"mode", file(0o666), nfs3.Sattr{Mode: to(0)}, ok, ok, perm, perm},
		{"owner", file(0o666), nfs3.Sattr{UID: to(2)}, ok, perm, perm, perm},
		{"the same owner", file(0o666), nfs3.Sattr{UID: to(1)}, ok, ok, perm, perm},
		{"group", file(0o666), nfs3.Sattr{GID: to(20)}, ok, perm, perm, perm},
		{"the same group", file(0o666), nfs3.Sattr{GID: to(10)}, ok, ok, perm, perm},
		{"now", file(0o020), nfs3.Sattr{Mtime: at(nfs3.ToServerTime, 0)}, ok, ok, ok, acces},
		{"then", file(0o666), nfs3.Sattr{Mtime: at(nfs3.ToClientTime, 999_999_999)}, ok, ok, perm, perm},
		{"no time", file(0o666), nfs3.Sattr{Atime: at(nfs3.ToClientTime, 1e9)}, inval, inval, perm, perm},
		{"now, and what is not looked at", file(0o666), nfs3.Sattr{Atime: at(nfs3.ToServerTime, 1e9)}, ok, ok, ok, ok},
		{"size", file(0o620), size, ok, ok, ok, acces},
		{"size of what nobody may write", file(0o444), size, ok, ok, acces, acces},
		{"size of a directory", dir(0o777), size, nfs3.ErrIsDir, nfs3.ErrIsDir, nfs3.ErrIsDir, nfs3.ErrIsDir},
		{"size of a link", link, size, inval, inval, inval, inval},
		{"size of a FIFO", fifo, size, inval, inval, inval, inval},
	} {
		for c, want := range map[*Cred]nfs3.Status{root: tt.root, owner: tt.owner, member: tt.member, stranger: tt.stranger} {
			if got := statusOf(tt.p.CheckSetAttr(c, &tt.set)); got != want {
				t.Errorf("%s, mode %o, user %d: %v, want %v", tt.name, tt.p.Mode, c.UID, got, want)
			}
		}
	}
}

func TestCheckRemove(t *testing.T) {
	const ok, perm, acces = nfs3.OK, nfs3.ErrPerm, nfs3.ErrAcces
	theirs := Perm{nfs3.TypeReg, 0, 2, 20} // member's
	for _, tt := range []struct {
		name                          string
		dir, file                     Perm
		root, owner, member, stranger nfs3.Status
	}{
		{"all may", dir(0o777), file(0), ok, ok, ok, ok},
		{"group may", dir(0o770), file(0o777), ok, ok, ok, acces},
		{"no search", dir(0o666), file(0o777), ok, acces, acces, acces},
		{"no write", dir(0o555), file(0o777), ok, acces, acces, acces},
		{"sticky, of the directory's owner", dir(0o1777), file(0o777), ok, ok, perm, perm},
		{"sticky, of another", dir(0o1777), theirs, ok, ok, ok, perm},
		{"sticky, no write", dir(0o1755), theirs, ok, ok, acces, acces},
	} {
		for c, want := range map[*Cred]nfs3.Status{root: tt.root, owner: tt.owner, member: tt.member, stranger: tt.stranger} {
			if got := statusOf(tt.dir.CheckRemove(c, tt.file)); got != want {
				t.Errorf("%s, user %d: %v, want %v", tt.name, c.UID, got, want)
			}
			if got := statusOf(tt.dir.CheckAddName(c)); got == ok != (want != acces) {
				t.Errorf("%s, user %d: enter %v, remove %v", tt.name, c.UID, got, want)
			}
		}
	}
}

func TestCheckName(t *testing.T) {
	for _, tt := range []struct {
		name string
		want nfs3.Status
	}{
		{"a", nfs3.OK},
		{".", nfs3.OK},
		{"..", nfs3.OK},
		{"\xff", nfs3.OK},
		{strings.Repeat("n", 10), nfs3.OK},
		{strings.Repeat("n", 11), nfs3.ErrNameTooLong},
		{"", nfs3.ErrAcces},
		{"/", nfs3.ErrAcces},
		{"a/", nfs3.ErrAcces},
		{"a\x00", nfs3.ErrAcces},
		{strings.Repeat("/", 11), nfs3.ErrAcces},
	} {
		if got := statusOf(CheckName(tt.name, 10)); got != tt.want {
			t.Errorf("%q: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func statusOf(err error) nfs3.Status {
	if err == nil {
		return nfs3.OK
	}
	return err.(nfs3.Status)
}
