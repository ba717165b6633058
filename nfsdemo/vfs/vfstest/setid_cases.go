package vfstest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// SetIDCase is a call that may clear the set-user-ID and set-group-ID bits of a file.
type SetIDCase struct {
	Kind nfs3.FileType
	Mode uint32 // of the file before, or that is asked for when it is made
	// InGroup is whether the group of the file, or of the directory that hands its group down, is
	// one of the user's who makes the call.
	InGroup bool
	Who     *vfs.Cred
	Call    string // one of the words in setIDCalls and setIDMakes
}

// SetIDServer is what cases of set-ID bits are tried on: a file system, or a server.
type SetIDServer interface {
	// Make makes a file of a type. It returns its handle.
	Make(c *vfs.Cred, dir nfs3.FH, name string, kind nfs3.FileType, set *nfs3.Sattr) (nfs3.FH, error)
	// SetAttr sets attributes.
	SetAttr(c *vfs.Cred, h nfs3.FH, set *nfs3.Sattr) error
	// Write writes a byte.
	Write(c *vfs.Cred, h nfs3.FH) error
	// Mode returns the mode of a file.
	Mode(h nfs3.FH) (uint32, error)
}

// SetIDAnswers is what Linux's own server answers: for each case a line, of the case and the mode
// that the file has behind the call, or the error. interop/linux asks it, and writes the file.
//
//go:embed testdata/setid.txt
var SetIDAnswers string

// The groups of the files: one of alice's, and one of nobody's.
const (
	groupIn  = 501
	groupOut = 4711
)

func set32(to uint32) nfs3.Set32 { return nfs3.Set32{Set: true, To: to} }

// setIDCalls are the SETATTRs of files that are there, by a word.
var setIDCalls = []struct {
	word string
	set  nfs3.Sattr
}{
	{"chmod", nfs3.Sattr{}}, // to the mode, from 0777
	{"chown", nfs3.Sattr{UID: set32(1001)}},
	{"chown-other", nfs3.Sattr{UID: set32(1002)}},
	{"chgrp-in", nfs3.Sattr{GID: set32(500)}},
	{"chgrp-out", nfs3.Sattr{GID: set32(4712)}},
	{"chgrp-in+mode", nfs3.Sattr{GID: set32(500), Mode: set32(0o6777)}},
	{"chgrp-out+mode", nfs3.Sattr{GID: set32(4712), Mode: set32(0o6777)}},
	{"chown+mode", nfs3.Sattr{UID: set32(1001), Mode: set32(0o6767)}},
	{"times", nfs3.Sattr{Mtime: nfs3.SetTime{How: nfs3.ToServerTime}}},
}

// setIDMakes are the directories in which files are made, by a word, and what else is asked for.
var setIDMakes = []struct {
	word string
	dir  uint32 // mode
	set  nfs3.Sattr
}{
	{"make", 0o777, nfs3.Sattr{}},
	{"make-in-setgid", 0o2777, nfs3.Sattr{}},
	{"make-for-group", 0o777, nfs3.Sattr{GID: set32(500)}},
	{"make-for-user", 0o777, nfs3.Sattr{UID: set32(1001)}},
}

// SetIDCases returns all cases.
func SetIDCases() (cases []SetIDCase) {
	kinds := []nfs3.FileType{nfs3.TypeReg, nfs3.TypeDir, nfs3.TypeFIFO, nfs3.TypeSock, nfs3.TypeChr}
	for _, kind := range kinds {
		for _, bits := range []uint32{0, nfs3.ModeSetUID, nfs3.ModeSetGID, nfs3.ModeSetUID | nfs3.ModeSetGID} {
			for _, rights := range []uint32{0o777, 0o767} {
				for _, inGroup := range []bool{true, false} {
					for _, who := range []*vfs.Cred{root, alice} {
						add := func(call string) {
							cases = append(cases, SetIDCase{kind, bits | rights, inGroup, who, call})
						}
						for _, call := range setIDCalls {
							add(call.word)
						}
						if kind == nfs3.TypeReg {
							add("write")
						}
						if kind == nfs3.TypeChr && who == alice {
							continue // root alone makes devices
						}
						for _, m := range setIDMakes {
							// For others, or another group, root alone makes files.
							if who == root || !m.set.UID.Set && !m.set.GID.Set {
								add(m.word)
							}
						}
					}
				}
			}
		}
	}
	return cases
}

var kindWords = map[nfs3.FileType]string{nfs3.TypeReg: "file", nfs3.TypeDir: "directory",
	nfs3.TypeFIFO: "FIFO", nfs3.TypeSock: "socket", nfs3.TypeChr: "device"}

// String returns the words of a line of SetIDAnswers.
func (s SetIDCase) String() string {
	who, group := "owner", "in-group"
	if s.Who == root {
		who = "root"
	}
	if !s.InGroup {
		group = "not-in-group"
	}
	return fmt.Sprintf("%s %04o %s %s %s", kindWords[s.Kind], s.Mode, group, who, s.Call)
}

// Run makes what the case needs in a directory, under a name, and returns what came of the call:
// the mode of the file, or the status.
func (s SetIDCase) Run(srv SetIDServer, dir nfs3.FH, name string) (string, error) {
	gid := uint32(groupOut)
	if s.InGroup {
		gid = groupIn
	}
	h, err := s.call(srv, dir, name, gid)
	var status nfs3.Status
	if errors.As(err, &status) {
		return status.String(), nil
	}
	if err != nil {
		return "", err
	}
	mode, err := srv.Mode(h)
	return fmt.Sprintf("%04o", mode), err
}

func (s SetIDCase) call(srv SetIDServer, dir nfs3.FH, name string, gid uint32) (nfs3.FH, error) {
	for _, m := range setIDMakes {
		if m.word != s.Call {
			continue
		}
		in, err := makeOwned(srv, dir, name, nfs3.TypeDir, gid, m.dir)
		if err != nil {
			return in, err
		}
		m.set.Mode = set32(s.Mode)
		return srv.Make(s.Who, in, "new", s.Kind, &m.set)
	}
	before := s.Mode
	if s.Call == "chmod" {
		before = 0o777
	}
	h, err := makeOwned(srv, dir, name, s.Kind, gid, before)
	if err != nil {
		return h, err
	}
	if s.Call == "write" {
		return h, srv.Write(s.Who, h)
	}
	for _, call := range setIDCalls {
		if call.word == s.Call {
			if call.word == "chmod" {
				call.set.Mode = set32(s.Mode)
			}
			return h, srv.SetAttr(s.Who, h, &call.set)
		}
	}
	return h, fmt.Errorf("no such call: %s", s.Call)
}

// makeOwned makes a file of alice's.
func makeOwned(
	srv SetIDServer, dir nfs3.FH, name string, kind nfs3.FileType, gid, mode uint32,
) (nfs3.FH, error) {
	h, err := srv.Make(root, dir, name, kind, &nfs3.Sattr{Mode: set32(0o700)})
	if err == nil {
		err = srv.SetAttr(root, h, &nfs3.Sattr{UID: set32(alice.UID), GID: set32(gid)})
	}
	if err == nil {
		err = srv.SetAttr(root, h, &nfs3.Sattr{Mode: set32(mode)})
	}
	if err != nil {
		err = fmt.Errorf("before the call: %v", err) // no answer of the case's
	}
	return h, err
}

// onFS tries cases on a file system.
type onFS struct {
	ctx context.Context
	fs  vfs.FS
}

func (o onFS) Make(
	c *vfs.Cred, dir nfs3.FH, name string, kind nfs3.FileType, set *nfs3.Sattr,
) (nfs3.FH, error) {
	var f vfs.Object
	var err error
	switch kind {
	case nfs3.TypeReg:
		f, _, err = o.fs.Create(o.ctx, c, dir, name, &nfs3.CreateHow{Mode: nfs3.Guarded, Set: *set})
	case nfs3.TypeDir:
		f, _, err = o.fs.Mkdir(o.ctx, c, dir, name, set)
	default:
		f, _, err = o.fs.Mknod(o.ctx, c, dir, name, kind, nfs3.Specdata{Major: 1, Minor: 3}, set)
	}
	return f.File, err
}

func (o onFS) SetAttr(c *vfs.Cred, h nfs3.FH, set *nfs3.Sattr) error {
	_, err := o.fs.SetAttr(o.ctx, c, h, set, nil)
	return err
}

func (o onFS) Write(c *vfs.Cred, h nfs3.FH) error {
	_, err := o.fs.Write(o.ctx, c, h, 0, Bulk([]byte{1}), nfs3.FileSync)
	return err
}

func (o onFS) Mode(h nfs3.FH) (uint32, error) {
	a, err := o.fs.GetAttr(o.ctx, h)
	return a.Mode, err
}

// testSetIDCases: the file system answers as Linux's own server.
func testSetIDCases(f *fixture) {
	answers := make(map[string]string)
	for line := range strings.Lines(SetIDAnswers) {
		if call, answer, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			answers[call] = answer
		}
	}
	cases := SetIDCases()
	if len(answers) != len(cases) {
		f.Errorf("%d answers to %d cases", len(answers), len(cases))
	}
	srv := onFS{f.ctx, f.fs}
	for i, c := range cases {
		got, err := c.Run(srv, f.fs.Root(), fmt.Sprint(i))
		if want := answers[c.String()]; got != want || err != nil {
			f.Errorf("%s: %s, %v; want %s", c, got, err, want)
		}
	}
}
