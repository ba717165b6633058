//go:build interop

package linux

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// largest is the most that the kernel's server moves in one READ or WRITE, and returns in the
// entries of one READDIRPLUS.
const largest = 1 << 20

// oddSizes are sizes around limits: an XDR word, a page, 64 KiB, the largest call.
var oddSizes = []int{0, 1, 3, 1000, 4095, 4096, 4097, 65535, 65536, 65537, largest - 1, largest}

// limits shows which sizes the server supports, and that the client respects them.
func (k *knfsd) limits(t *testing.T) {
	t.Run("sizes", k.callSizes)
	t.Run("beyond", k.beyond)
	t.Run("symlinks", k.symlinks)
	t.Run("directory", k.replyChunks)
	t.Run("empty chunk", k.emptyChunk)
}

// thereAndBack writes n bytes at the beginning of a file, and reads them.
func thereAndBack(t *testing.T, c *nfsclient.Client, file nfs3.FH, n int) {
	t.Helper()
	want := random(t, n)
	if w, err := c.Write(t.Context(), file, 0, want, nfs3.FileSync); err != nil || w.N != n {
		t.Fatalf("WRITE of %d bytes: %+v, %v", n, w, err)
	}
	got := make([]byte, n)
	if r, err := c.Read(t.Context(), file, 0, got); err != nil || r.N != n || !bytes.Equal(got, want) {
		t.Fatalf("READ of %d bytes: %+v, %v; equal: %v", n, r, err, bytes.Equal(got, want))
	}
}

// callSizes writes and reads all sizes, with several sizes of inline messages and segments.
func (k *knfsd) callSizes(t *testing.T) {
	for _, tt := range []struct{ inline, segment, used int }{
		{1024, 0, 1024},
		{1024, 64 << 10, 1024},
		{4096, 0, 4096},
		{4096, 16 << 10, 4096},
		{65536, 0, 4096}, // the server's own are 4096, and it says so
	} {
		t.Run(fmt.Sprintf("inline %d, segments of %d", tt.inline, tt.segment), func(t *testing.T) {
			conn, c, root := k.client(t, rpcrdma.Config{InlineSend: tt.inline, InlineRecv: tt.inline, SegmentSize: tt.segment}, open)
			if send, recv := conn.Inline(); send != tt.used || recv != tt.used {
				t.Errorf("inline messages of %d and %d bytes, want %d", send, recv, tt.used)
			}
			file := create(t, c, root, "sizes")
			for _, n := range oddSizes {
				thereAndBack(t, c, file, n)
			}
		})
	}
}

// create makes a file, or empties it.
func create(t *testing.T, c *nfsclient.Client, dir nfs3.FH, name string) nfs3.FH {
	t.Helper()
	o, err := c.Create(t.Context(), dir, name, nfs3.CreateHow{Set: nfs3.Sattr{
		Mode: nfs3.Set32{Set: true, To: 0o644}, Size: nfs3.Set64{Set: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return o.File
}

// beyond asks for more than the server can do in one call.
func (k *knfsd) beyond(t *testing.T) {
	const (
		more = largest + 2*4096 // what it still takes, as there is room for the headers
		much = 2 * largest      // that it does not
	)
	_, c, root := k.client(t, rpcrdma.Config{MaxMessage: 64 << 20}, open)
	info, err := c.FSInfo(t.Context(), root)
	if err != nil || info.RtMax != largest || info.WtMax != largest {
		t.Fatalf("%+v, %v", info, err)
	}
	file := create(t, c, root, "beyond")
	want := random(t, much)
	for off := 0; off < much; off += largest {
		if w, err := c.Write(t.Context(), file, uint64(off), want[off:min(off+more, much)], nfs3.FileSync); err != nil || w.N != largest {
			t.Fatalf("WRITE of %d bytes: %+v, %v, want %d", more, w, err, largest)
		}
	}
	got := make([]byte, 48<<20)
	if r, err := c.Read(t.Context(), file, 0, got); err != nil || r.N != largest || r.EOF || !bytes.Equal(got[:largest], want[:largest]) {
		t.Errorf("READ of %d bytes: %+v, %v", len(got), r, err)
	}
	var refused *rpcrdma.PeerError
	if _, err := c.Write(t.Context(), file, 0, want, nfs3.FileSync); !errors.As(err, &refused) || refused.Code != rpcrdma.ErrChunk {
		t.Errorf("WRITE of %d bytes: %v, want %v", much, err, rpcrdma.ErrChunk)
	}
	k.errors++
	if err := c.Null(t.Context()); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// symlinks makes and reads symbolic links that do not fit inline. Their paths go by read chunk.
func (k *knfsd) symlinks(t *testing.T) {
	for _, segment := range []int{0, 1024} {
		var s seen
		_, c, root := k.client(t, rpcrdma.Config{SegmentSize: segment, Observer: &s}, open)
		for _, n := range []int{1, 3900, 4093, 4094, 4095} {
			want := strings.Repeat("x", n)
			o, err := c.Symlink(t.Context(), root, fmt.Sprintf("link-%d-%d", segment, n), want, nfs3.Sattr{})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.last().ReadChunk; (got >= n) != (n > 3900) {
				t.Errorf("%d bytes by read chunk for %d of path", got, n)
			}
			if got, err := c.ReadLink(t.Context(), o.File); err != nil || got != want {
				t.Errorf("READLINK of %d bytes: %q, %v", n, got, err)
			}
		}
		if _, err := c.Symlink(t.Context(), root, "longer", strings.Repeat("x", 4096), nfs3.Sattr{}); !errors.Is(err, nfs3.ErrNameTooLong) {
			t.Errorf("SYMLINK of 4096 bytes: %v", err)
		}
	}
}

// emptyChunk offers a write chunk of no bytes before a large one. The server accepts that if the
// empty one has a segment. Otherwise it drops the call and the connection.
func (k *knfsd) emptyChunk(t *testing.T) {
	conn := k.dial(t, rpcrdma.Config{})
	raw := oncrpc.NewClient(conn, nfs3.Program, nfs3.Version, user(t, 0))
	req := oncrpc.Request{Procedure: uint32(nfs3.ProcNull), Results: [][]byte{nil, make([]byte, 9000)}}
	for range 2 {
		if err := raw.Do(t.Context(), &req); err != nil {
			t.Error(err)
		}
	}
}

// replyChunks lists a large directory with reply chunks of all sizes.
func (k *knfsd) replyChunks(t *testing.T) {
	const entries = 4000
	k.sh[0].run(t, fmt.Sprintf("mkdir /export/long && cd /export/long && p=$(printf %%0250d 0) && i=0\n"+
		"while [ $i -lt %d ]; do i=$((i + 1)); : >$p$i; done", entries))
	var s seen
	conn, c, root := k.client(t, rpcrdma.Config{SegmentSize: 1 << 30, MaxMessage: 1 << 30, Observer: &s}, open)
	dir, err := c.Lookup(t.Context(), root, "long")
	if err != nil {
		t.Fatal(err)
	}
	raw := oncrpc.NewClient(conn, nfs3.Program, nfs3.Version, user(t, 0))
	for _, n := range []int{4096, 65536, largest, largest + 4, 4 << 20, 512 << 20} {
		args := nfs3.ReadDirPlusArgs{Dir: dir.File, DirCount: uint32(n), MaxCount: uint32(n)}
		var res nfs3.ReadDirPlusRes
		err := raw.Do(t.Context(), &oncrpc.Request{
			Procedure: uint32(nfs3.ProcReadDirPlus), Args: &args, Reply: &res, MaxReply: nfs3.ReadDirPlusResMax(n),
		})
		if err != nil || res.Status != nfs3.OK {
			t.Fatalf("READDIRPLUS of %d bytes: %v, %v", n, res.Status, err)
		}
		const reply, entry = 24, 400 // an RPC reply's header, and more than an entry takes
		most := reply + nfs3.ReadDirPlusResMax(min(n, largest))
		if got := s.last().ReplyChunk; got > most || got < most-entry {
			t.Errorf("READDIRPLUS of %d bytes: %d by reply chunk, want at most %d, and at least that less an entry", n, got, most)
		}
	}
	names := make(map[string]bool)
	for e, err := range c.ReadDir(t.Context(), dir.File) {
		if err != nil {
			t.Fatal(err)
		}
		names[e.Name] = true
	}
	if len(names) != entries {
		t.Errorf("%d names listed, want %d", len(names), entries)
	}
	k.sh[0].run(t, "rm -r /export/long")
}
