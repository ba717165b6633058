package nfsserver_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// mountOn returns a client of the MOUNT program.
func mountOn(conn oncrpc.Transport, cred oncrpc.ClientFlavor) *oncrpc.Client {
	return oncrpc.NewClient(conn, mount3.Program, mount3.Version, cred)
}

// TestProcedures: the programs are complete, and say which procedures may run where, and which only
// once.
func TestProcedures(t *testing.T) {
	s, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{export(newFS(t))}})
	if err != nil {
		t.Fatal(err)
	}
	progs := s.Programs()
	if len(progs) != 2 || progs[0].Number != nfs3.Program || progs[0].Version != 3 || progs[1].Number != mount3.Program || progs[1].Version != 3 {
		t.Fatalf("programs: %+v", progs)
	}
	if len(progs[0].Procedures) != nfs3.Procs || len(progs[1].Procedures) != mount3.Procs {
		t.Errorf("%d procedures of NFS, %d of MOUNT", len(progs[0].Procedures), len(progs[1].Procedures))
	}
	once := map[string]bool{"SETATTR": true, "WRITE": true, "CREATE": true, "MKDIR": true,
		"SYMLINK": true, "MKNOD": true, "REMOVE": true, "RMDIR": true, "RENAME": true, "LINK": true}
	waits := map[string]bool{"READDIR": true, "READDIRPLUS": true, "DUMP": true, "EXPORT": true}
	for i, p := range progs[0].Procedures {
		if p.Name != nfs3.Proc(i).String() || p.Once != once[p.Name] || i > 0 && (p.Handler == nil || p.NonBlocking == waits[p.Name]) {
			t.Errorf("procedure %d: %s, once %v, non-blocking %v", i, p.Name, p.Once, p.NonBlocking)
		}
	}
	for i, p := range progs[1].Procedures {
		if p.Name != mount3.Proc(i).String() || p.Once ||
			i > 0 && (p.Handler == nil || p.NonBlocking == waits[p.Name]) {
			t.Errorf("MOUNT, procedure %d: %s, once %v, non-blocking %v",
				i, p.Name, p.Once, p.NonBlocking)
		}
	}
}

// TestMayBlock: if one file system may block, or Config says so, all calls run on workers.
func TestMayBlock(t *testing.T) {
	fast, slow := export(newFS(t)), nfsserver.Export{Path: "/slow", FS: blocking{newFS(t)}}
	for name, cfg := range map[string]nfsserver.Config{
		"the first":  {Exports: []nfsserver.Export{slow, fast}},
		"the last":   {Exports: []nfsserver.Export{fast, slow}},
		"some later": {Exports: []nfsserver.Export{fast}, Blocking: true},
	} {
		s, err := nfsserver.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, prog := range s.Programs() {
			for _, p := range prog.Procedures {
				if p.NonBlocking {
					t.Errorf("%s: %s of %s is non-blocking", name, p.Name, prog.Name)
				}
			}
		}
	}
}

// TestUnavailable: NULL is answered, and numbers after the last procedure are unavailable.
func TestUnavailable(t *testing.T) {
	conn := newWorld(t).reach(t, pipe.Inline)
	for _, tt := range []struct {
		name   string
		client *oncrpc.Client
		procs  uint32
	}{
		{"NFS", nfsOn(conn, oncrpc.AuthNone()), nfs3.Procs},
		{"MOUNT", mountOn(conn, oncrpc.AuthNone()), mount3.Procs},
	} {
		if err := tt.client.Call(t.Context(), 0, nil, nil); err != nil {
			t.Errorf("%s: NULL: %v", tt.name, err)
		}
		var accept *oncrpc.AcceptError
		if err := tt.client.Call(t.Context(), tt.procs, nil, nil); !errors.As(err, &accept) || accept.Stat != oncrpc.ProcUnavail {
			t.Errorf("%s: procedure %d: %v", tt.name, tt.procs, err)
		}
	}
}

// TestGarbage: arguments that are truncated or too long are GARBAGE_ARGS, and have no effect.
func TestGarbage(t *testing.T) {
	w := newWorld(t)
	conn := w.reach(t, pipe.Inline)
	check := func(c *oncrpc.Client, proc string, n uint32, args []byte) {
		t.Helper()
		var accept *oncrpc.AcceptError
		err := c.Do(t.Context(), &oncrpc.Request{Procedure: n, Args: raw(args), MaxReply: 1 << 16})
		if !errors.As(err, &accept) || accept.Stat != oncrpc.GarbageArgs {
			t.Errorf("%s with %x: %v", proc, args, err)
		}
	}
	nfs := nfsOn(conn, auth(t, 0))
	before := attrOf(t, nfs, w.root)
	for _, op := range operations {
		b := encode(op.args(w.root, w.root, "name"))
		for n := 0; n < len(b); n += 4 {
			check(nfs, op.String(), uint32(op.proc), b[:n])
		}
		check(nfs, op.String(), uint32(op.proc), append(b, 0, 0, 0, 0))
	}
	mount := mountOn(conn, auth(t, 0))
	path := encode(&mount3.MntArgs{Path: "/abc"})
	for p, args := range map[mount3.Proc][]byte{mount3.ProcMnt: path, mount3.ProcUmnt: path, mount3.ProcUmntAll: nil, mount3.ProcDump: nil, mount3.ProcExport: nil} {
		for n := 0; n < len(args); n += 4 {
			check(mount, p.String(), uint32(p), args[:n])
		}
		check(mount, p.String(), uint32(p), append(args[:len(args):len(args)], 0, 0, 0, 0))
	}
	// MOUNT accepts no path of 1025 bytes.
	long := encode(&nfs3.LookupArgs{What: at(nfs3.FH{}, string(make([]byte, mount3.MaxPath+1)))})[4:]
	check(mount, "MNT", uint32(mount3.ProcMnt), long)
	check(mount, "UMNT", uint32(mount3.ProcUmnt), long)
	if after := attrOf(t, nfs, w.root); after != before {
		t.Errorf("the root has changed: %+v, was %+v", after, before)
	}
}

// TestGarbageValues: numbers without a meaning.
func TestGarbageValues(t *testing.T) {
	w := newWorld(t)
	c := nfsOn(w.reach(t, pipe.Inline), auth(t, 0))
	set := encode(&nfs3.SetAttrArgs{File: w.file})
	for name, tt := range map[string]struct {
		proc nfs3.Proc
		args []byte
	}{
		"CREATE in a mode that is none": {nfs3.ProcCreate, append(encode(&nfs3.LookupArgs{What: at(w.root, "n")}), 0, 0, 0, 3)},
		"MKNOD of type 8":               {nfs3.ProcMknod, append(encode(&nfs3.LookupArgs{What: at(w.root, "n")}), 0, 0, 0, 8)},
		"SETATTR with a flag of 2":      {nfs3.ProcSetAttr, append(set[:4+w.file.Len():4+w.file.Len()], 0, 0, 0, 2)},
		"a handle of 65 bytes":          {nfs3.ProcGetAttr, append([]byte{0, 0, 0, 65}, make([]byte, 68)...)},
		"a handle of 4 GiB":             {nfs3.ProcGetAttr, []byte{0xff, 0xff, 0xff, 0xff}},
		"a name of 4 GiB":               {nfs3.ProcLookup, append(encode(&nfs3.GetAttrArgs{File: w.root}), 0xff, 0xff, 0xff, 0xff)},
		"a name with round-up not zero": {nfs3.ProcLookup, append(encode(&nfs3.GetAttrArgs{File: w.root}), 0, 0, 0, 1, 'a', 1, 0, 0)},
		"WRITE of 5 bytes with 6":       {nfs3.ProcWrite, encode(&nfs3.WriteArgs{File: w.file, Count: 5, Data: [][]byte{make([]byte, 6)}})},
		"WRITE of 4 GiB without any":    {nfs3.ProcWrite, encode(&nfs3.WriteArgs{File: w.file, Count: 1<<32 - 1})},
		"WRITE with a stability of 3":   {nfs3.ProcWrite, encode(&nfs3.WriteArgs{File: w.file, Stable: 3})},
		"SETATTR with a time_how of 3":  {nfs3.ProcSetAttr, encode(&nfs3.SetAttrArgs{File: w.file, Set: nfs3.Sattr{Mtime: nfs3.SetTime{How: 3}}})},
		"a symbolic link of 4 GiB":      {nfs3.ProcSymlink, append(encode(&nfs3.MkdirArgs{Where: at(w.root, "n")}), 0xff, 0xff, 0xff, 0xff)},
	} {
		var accept *oncrpc.AcceptError
		err := c.Do(t.Context(), &oncrpc.Request{Procedure: uint32(tt.proc), Args: raw(tt.args), MaxReply: 1 << 16})
		if !errors.As(err, &accept) || accept.Stat != oncrpc.GarbageArgs {
			t.Errorf("%s: %v", name, err)
		}
	}
}
