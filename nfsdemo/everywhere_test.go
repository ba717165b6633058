package nfsdemo

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// overTCP serves srv over TCP until the test ends, and returns a connection to it.
func overTCP(tb testing.TB, srv *oncrpc.Server) oncrpc.Transport {
	tb.Helper()
	ctx := context.Background()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- recordmark.Serve(ctx, l, srv, recordmark.Config{}) }()
	conn, err := recordmark.Dial(ctx, l.Addr().String(), recordmark.Config{EnforceMaxReply: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		conn.Close()
		<-conn.Done()
		srv.Shutdown(ctx)
		if err := <-served; !errors.Is(err, oncrpc.ErrServerClosed) {
			tb.Error(err)
		}
	})
	return conn
}

// TestEverywhere: every procedure of NFS and MOUNT gives the same results over each transport.
func TestEverywhere(t *testing.T) {
	transports := map[string]func(testing.TB, *oncrpc.Server) oncrpc.Transport{"tcp": overTCP, "gateway": overGateway}
	for name, p := range providers {
		transports[name] = func(tb testing.TB, srv *oncrpc.Server) oncrpc.Transport { return p.connect(tb, srv) }
	}
	transports["device"] = func(tb testing.TB, srv *oncrpc.Server) oncrpc.Transport {
		return provider(func(tb testing.TB) (transport.Listener, transport.Dialer, func()) {
			l, d, leaks := providers["loopback"](tb)
			l, d = transporttest.Device(l, d)
			return l, d, leaks
		}).connect(tb, srv)
	}
	for name, connect := range transports {
		t.Run(name, func(t *testing.T) {
			fs, err := memfs.New(memfs.Config{Capacity: 1 << 30})
			if err != nil {
				t.Fatal(err)
			}
			conn := connect(t, newServer(t, fs))
			cred, err := oncrpc.AuthSys(*root)
			if err != nil {
				t.Fatal(err)
			}
			s := &session{ctx: t.Context(), conn: conn, cred: cred, client: nfsclient.New(conn, cred), at: make(map[string]nfs3.FH)}
			for _, step := range steps {
				if got := told(step.do(s)); got != step.want {
					t.Errorf("%s\n got %s\nwant %s", step.name, got, step.want)
				}
			}
		})
	}
}

// session is a client and the files it has found.
type session struct {
	ctx    context.Context
	conn   oncrpc.Transport
	cred   oncrpc.ClientFlavor
	client *nfsclient.Client
	at     map[string]nfs3.FH
}

// told formats the result of a step, without what differs between servers.
func told(v any, err error) string {
	var accept *oncrpc.AcceptError
	switch {
	case errors.As(err, &accept):
		return accept.Error()
	case err != nil:
		return err.Error()
	case v == nil:
		return "ok"
	}
	return fmt.Sprint(v)
}

// found remembers a file.
func (s *session) found(name string, o nfsclient.Object, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	s.at[name] = o.File
	return shown(o.Attr.Attr), nil
}

func shown(a nfs3.Fattr) string {
	return fmt.Sprintf("type %d mode %o nlink %d size %d rdev %v", a.Type, a.Mode, a.Nlink, a.Size, a.Rdev)
}

func mode(bits uint32) nfs3.Sattr { return nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: bits}} }

// pattern returns n bytes that vary with their position.
func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return p
}

var (
	long = strings.Repeat("0123456789/", 372) // 4092 bytes
	big  = pattern(1<<20 - 3)
)

// steps are operations that depend on the ones before.
var steps = []struct {
	name string
	do   func(s *session) (any, error)
	want string
}{
	{"NULL", func(s *session) (any, error) { return nil, s.client.Null(s.ctx) }, "ok"},
	{"MNT", func(s *session) (any, error) {
		h, err := s.client.Mount(s.ctx, "/")
		s.at["/"] = h
		return nil, err
	}, "ok"},
	{"MNT of nothing", func(s *session) (any, error) {
		_, err := s.client.Mount(s.ctx, "/none")
		return nil, err
	}, "nfs: MNT /none: MNT3ERR_NOENT"},
	{"MKDIR", func(s *session) (any, error) {
		o, err := s.client.Mkdir(s.ctx, s.at["/"], "dir", mode(0o750))
		return s.found("dir", o, err)
	}, "type 2 mode 750 nlink 2 size 4096 rdev {0 0}"},
	{"CREATE", func(s *session) (any, error) {
		o, err := s.client.Create(s.ctx, s.at["dir"], "file", nfs3.CreateHow{Mode: nfs3.Guarded, Set: mode(0o640)})
		return s.found("file", o, err)
	}, "type 1 mode 640 nlink 1 size 0 rdev {0 0}"},
	{"CREATE again", func(s *session) (any, error) {
		o, err := s.client.Create(s.ctx, s.at["dir"], "file", nfs3.CreateHow{Mode: nfs3.Guarded})
		return s.found("file", o, err)
	}, "nfs: CREATE file: NFS3ERR_EXIST"},
	{"SETATTR", func(s *session) (any, error) {
		w, err := s.client.SetAttr(s.ctx, s.at["file"], mode(0o4711), nil)
		return shown(w.After.Attr), err
	}, "type 1 mode 4711 nlink 1 size 0 rdev {0 0}"},
	{"SETATTR guarded", func(s *session) (any, error) {
		_, err := s.client.SetAttr(s.ctx, s.at["file"], mode(0), &nfs3.Time{Sec: 1})
		return nil, err
	}, "nfs: SETATTR: NFS3ERR_NOT_SYNC"},
	{"LOOKUP", func(s *session) (any, error) {
		o, err := s.client.Lookup(s.ctx, s.at["dir"], "file")
		return o.File == s.at["file"], err
	}, "true"},
	{"ACCESS", func(s *session) (any, error) { return s.client.Access(s.ctx, s.at["file"], nfs3.AccessAll) }, "45"},
	{"WRITE of little", func(s *session) (any, error) {
		r, err := s.client.Write(s.ctx, s.at["file"], 0, []byte("little"), nfs3.FileSync)
		return fmt.Sprint(r.N, r.Committed, r.Wcc.Before.Size, r.Wcc.After.Attr.Size), err
	}, "6 2 0 6"},
	{"WRITE of much", func(s *session) (any, error) {
		r, err := s.client.Write(s.ctx, s.at["file"], 4095, big, nfs3.Unstable)
		return fmt.Sprint(r.N, r.Wcc.Before.Size, r.Wcc.After.Attr.Size), err
	}, "1048573 6 1052668"},
	{"COMMIT", func(s *session) (any, error) {
		_, err := s.client.Commit(s.ctx, s.at["file"], 0, 0)
		return nil, err
	}, "ok"},
	{"READ of little", func(s *session) (any, error) {
		p := make([]byte, 9)
		r, err := s.client.Read(s.ctx, s.at["file"], 0, p)
		return fmt.Sprintf("%d %v %q", r.N, r.EOF, p), err
	}, `9 false "little\x00\x00\x00"`},
	{"READ of much", func(s *session) (any, error) {
		p := make([]byte, 1<<20)
		r, err := s.client.Read(s.ctx, s.at["file"], 4095, p)
		return fmt.Sprint(r.N, r.EOF, crc32.ChecksumIEEE(p[:r.N]) == crc32.ChecksumIEEE(big)), err
	}, "1048573 true true"},
	{"READ of a directory", func(s *session) (any, error) {
		_, err := s.client.Read(s.ctx, s.at["dir"], 0, make([]byte, 1<<16))
		return nil, err
	}, "nfs: READ: NFS3ERR_ISDIR"},
	{"SYMLINK", func(s *session) (any, error) {
		o, err := s.client.Symlink(s.ctx, s.at["dir"], "short", "file", nfs3.Sattr{})
		return s.found("short", o, err)
	}, "type 5 mode 777 nlink 1 size 4 rdev {0 0}"},
	{"SYMLINK of a long path", func(s *session) (any, error) {
		o, err := s.client.Symlink(s.ctx, s.at["dir"], "long", long, nfs3.Sattr{})
		return s.found("long", o, err)
	}, "type 5 mode 777 nlink 1 size 4092 rdev {0 0}"},
	{"SYMLINK of too long a path", func(s *session) (any, error) {
		_, err := s.client.Symlink(s.ctx, s.at["dir"], "longer", long+long, nfs3.Sattr{})
		return nil, err
	}, "nfs: SYMLINK longer: NFS3ERR_NAMETOOLONG"},
	{"READLINK", func(s *session) (any, error) { return s.client.ReadLink(s.ctx, s.at["short"]) }, "file"},
	{"READLINK of a long path", func(s *session) (any, error) { return s.client.ReadLink(s.ctx, s.at["long"]) }, long},
	{"MKNOD", func(s *session) (any, error) {
		o, err := s.client.Mknod(s.ctx, s.at["dir"], "null", nfs3.TypeChr, nfs3.Specdata{Major: 1, Minor: 3}, mode(0o666))
		return s.found("null", o, err)
	}, "type 4 mode 666 nlink 1 size 0 rdev {1 3}"},
	{"LINK", func(s *session) (any, error) {
		a, err := s.client.Link(s.ctx, s.at["file"], s.at["/"], "linked")
		return shown(a.Attr), err
	}, "type 1 mode 4711 nlink 2 size 1052668 rdev {0 0}"},
	{"RENAME", func(s *session) (any, error) {
		return nil, s.client.Rename(s.ctx, s.at["/"], "linked", s.at["dir"], strings.Repeat("r", 255))
	}, "ok"},
	{"RENAME of nothing", func(s *session) (any, error) {
		return nil, s.client.Rename(s.ctx, s.at["/"], "linked", s.at["dir"], "x")
	}, "nfs: RENAME linked: NFS3ERR_NOENT"},
	{"GETATTR", func(s *session) (any, error) {
		a, err := s.client.GetAttr(s.ctx, s.at["dir"])
		return shown(a), err
	}, "type 2 mode 750 nlink 2 size 4096 rdev {0 0}"},
	{"CREATE of many", func(s *session) (any, error) {
		for i := range 1000 {
			if _, err := s.client.Create(s.ctx, s.at["/"], fmt.Sprintf("%03d-%s", i, strings.Repeat("n", i%200)), nfs3.CreateHow{}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}, "ok"},
	{"READDIRPLUS", func(s *session) (any, error) {
		seen, handles := make(map[string]bool), 0
		for e, err := range s.client.ReadDir(s.ctx, s.at["/"]) {
			if err != nil {
				return nil, err
			}
			seen[e.Name] = true
			if e.File.Present && e.Attr.Present {
				handles++
			}
		}
		return fmt.Sprint(len(seen), handles, seen["dir"], seen["000-"]), nil
	}, "1001 1001 true true"},
	{"READDIR", func(s *session) (any, error) {
		seen, replies := make(map[string]bool), 0
		args := nfs3.ReadDirArgs{Dir: s.at["/"], Count: 16 << 10}
		for rpc := oncrpc.NewClient(s.conn, nfs3.Program, nfs3.Version, s.cred); ; replies++ {
			var res nfs3.ReadDirRes
			if err := rpc.Do(s.ctx, &oncrpc.Request{Procedure: uint32(nfs3.ProcReadDir), Args: &args, Reply: &res, MaxReply: nfs3.ReadDirPlusResMax(16 << 10)}); err != nil {
				return nil, err
			}
			if res.Status != nfs3.OK || len(res.Entries) == 0 {
				return nil, res.Status
			}
			for _, e := range res.Entries {
				seen[e.Name] = true
				args.Cookie, args.Verf = e.Cookie, res.Verf
			}
			if res.EOF {
				break
			}
		}
		return fmt.Sprint(len(seen), replies > 3, seen["."], seen[".."], seen["dir"]), nil
	}, "1003 true true true true"},
	{"FSSTAT", func(s *session) (any, error) {
		r, err := s.client.FSStat(s.ctx, s.at["/"])
		return fmt.Sprint(r.TotalBytes, r.FreeBytes < r.TotalBytes), err
	}, "1073741824 true"},
	{"FSINFO", func(s *session) (any, error) {
		r, err := s.client.FSInfo(s.ctx, s.at["/"])
		return fmt.Sprint(r.RtMax, r.WtMax, r.MaxFileSize), err
	}, "1048576 1048576 9223372036854775807"},
	{"PATHCONF", func(s *session) (any, error) {
		r, err := s.client.PathConf(s.ctx, s.at["file"])
		return fmt.Sprint(r.NameMax, r.NoTrunc), err
	}, "255 true"},
	{"RMDIR of a full directory", func(s *session) (any, error) { return nil, s.client.Rmdir(s.ctx, s.at["/"], "dir") }, "nfs: RMDIR dir: NFS3ERR_NOTEMPTY"},
	{"REMOVE", func(s *session) (any, error) {
		for _, name := range []string{"file", "short", "long", "null", strings.Repeat("r", 255)} {
			if err := s.client.Remove(s.ctx, s.at["dir"], name); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}, "ok"},
	{"GETATTR of what is gone", func(s *session) (any, error) {
		_, err := s.client.GetAttr(s.ctx, s.at["file"])
		return nil, err
	}, "nfs: GETATTR: NFS3ERR_STALE"},
	{"RMDIR", func(s *session) (any, error) { return nil, s.client.Rmdir(s.ctx, s.at["/"], "dir") }, "ok"},
	{"EXPORT", func(s *session) (any, error) { return nfsclient.Exports(s.ctx, s.conn, s.cred) }, "[{/ []}]"},
	{"DUMP", func(s *session) (any, error) { return paths(nfsclient.Dump(s.ctx, s.conn, s.cred)) }, "[/]"},
	{"UMNT", func(s *session) (any, error) { return nil, nfsclient.Unmount(s.ctx, s.conn, s.cred, "/") }, "ok"},
	{"DUMP of nothing", func(s *session) (any, error) { return paths(nfsclient.Dump(s.ctx, s.conn, s.cred)) }, "[]"},
	{"UMNTALL", func(s *session) (any, error) { return nil, nfsclient.UnmountAll(s.ctx, s.conn, s.cred) }, "ok"},
	{"a procedure that is none", func(s *session) (any, error) {
		return nil, oncrpc.NewClient(s.conn, mount3.Program, mount3.Version, s.cred).Call(s.ctx, mount3.Procs, nil, nil)
	}, "PROC_UNAVAIL"},
}

// paths drops the host names, which differ between transports.
func paths(mounts []mount3.Mount, err error) ([]string, error) {
	list := []string{}
	for _, m := range mounts {
		list = append(list, m.Path)
	}
	return list, err
}
