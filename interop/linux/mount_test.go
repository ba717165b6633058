//go:build interop

package linux

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// mountScript mounts PORT and MOUNTPORT, reads, writes and lists. It keeps to the procedures that the server has.
const mountScript = `
set -e
mount.nfs 192.0.2.2:/ /mnt -o vers=3,rdma,port=PORT,mountport=MOUNTPORT,mountproto=tcp,nolock,noresvport
echo "MOUNTED $(grep ' /mnt ' /proc/mounts)"
echo "READ $(sha256sum </mnt/down)"
cp /host/up /mnt/up
echo "LISTED $(ls -1 /mnt | tr '\n' ' ')"
echo "SIZES $(stat -c '%n %s' /mnt/down /mnt/up | tr '\n' ' ')"
echo "XPRT $(sed -n 's/^.*xprt://p' /proc/self/mountstats)"
umount /mnt
`

// The Linux NFS client mounts a file system in memory, reads a file that was put there, and writes one that
// is read there. The sizes are no multiples of 4, and do not fit inline.
func TestMount(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var key [32]byte
	copy(key[:], strconv.FormatUint(seed, 10))
	random := rand.NewChaCha8(key)
	down, up := make([]byte, 300_001), make([]byte, 200_003)
	random.Read(down)
	random.Read(up)

	fs, err := memfs.New(memfs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	put(ctx, t, fs, "down", down)
	rdma, tcp := serve(t, fs)
	script := strings.NewReplacer("MOUNTPORT", strconv.Itoa(tcp), "PORT", strconv.Itoa(rdma)).Replace(mountScript)
	g := boot(t, "stock", script, map[string][]byte{"up": up})

	mounted := g.await(t, "MOUNTED ")
	t.Log(mounted)
	if !strings.Contains(mounted, "proto=rdma") {
		t.Errorf("the mount is not over RDMA: %s", mounted)
	}
	want := fmt.Sprintf("%x  -", sha256.Sum256(down))
	if got := g.await(t, "READ "); got != want {
		t.Errorf("the guest read a file of SHA-256 %s, want %s", got, want)
	}
	if got, want := g.await(t, "LISTED "), "down up "; got != want {
		t.Errorf("the guest listed %q, want %q", got, want)
	}
	if got, want := g.await(t, "SIZES "), "/mnt/down 300001 /mnt/up 200003 "; got != want {
		t.Errorf("the guest saw %q, want %q", got, want)
	}
	checkChunks(t, g.await(t, "XPRT "))
	g.wait(t)
	if got := get(ctx, t, fs, "up"); !bytes.Equal(got, up) {
		t.Errorf("the guest wrote %d bytes that are not the %d it had: first difference at %d", len(got), len(up), differ(got, up))
	}
}

// serve serves a file system over RDMA, with MOUNT over TCP beside it, and returns the ports.
func serve(t *testing.T, fs vfs.FS) (rdma, tcp int) {
	t.Helper()
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: fs, Squash: nfsserver.SquashNone}}})
	if err != nil {
		t.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(nfs.Programs()...)
	ctx := context.Background()
	rdmaListener, err := iwarp.Listen(ctx, "127.0.0.1:0", iwarp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	tcpListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ends := make(chan error, 2)
	go func() { ends <- rpcrdma.Serve(ctx, rdmaListener, srv, rpcrdma.Config{}) }()
	go func() { ends <- recordmark.Serve(ctx, tcpListener, srv, recordmark.Config{}) }()
	t.Cleanup(func() {
		srv.Shutdown(ctx)
		for range cap(ends) {
			if err := <-ends; !errors.Is(err, oncrpc.ErrServerClosed) {
				t.Errorf("Serve: %v", err)
			}
		}
	})
	return port(rdmaListener.Addr()), port(tcpListener.Addr())
}

// rootCred may do everything.
var rootCred = vfs.Cred{}

// put makes a file.
func put(ctx context.Context, t *testing.T, fs vfs.FS, name string, data []byte) {
	t.Helper()
	o, _, err := fs.Create(ctx, &rootCred, fs.Root(), name, &nfs3.CreateHow{Set: nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o644}}})
	if err == nil {
		_, err = fs.Write(ctx, &rootCred, o.File, 0, vfstest.Bulk(data), nfs3.FileSync)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// get returns what is in a file.
func get(ctx context.Context, t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	o, _, err := fs.Lookup(ctx, &rootCred, fs.Root(), name)
	if err != nil {
		t.Fatal(err)
	}
	var r vfs.ReadResult
	if err := fs.Read(ctx, &rootCred, o.File, 0, 1<<20, &r); err != nil {
		t.Fatal(err)
	}
	data := bytes.Join(r.Data, nil)
	if r.Release != nil {
		r.Release.Release()
	}
	return data
}

// differ returns the offset of the first difference.
func differ(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// checkChunks looks into the counters of the client's transport, a line of mountstats: "rdma", then numbers, which
// xprt_rdma_print_stats of the kernel names.
func checkChunks(t *testing.T, line string) {
	t.Helper()
	const (
		readChunks  = 11
		writeChunks = 12
		badReplies  = 20
	)
	f := strings.Fields(line)
	if len(f) <= badReplies || f[0] != "rdma" {
		t.Fatalf("the client's counters are %q", line)
	}
	t.Logf("the client's counters: %s", line)
	for _, i := range []int{readChunks, writeChunks} {
		if f[i] == "0" {
			t.Errorf("counter %d is 0: the client has offered no such chunk", i)
		}
	}
	if f[badReplies] != "0" {
		t.Errorf("the client has seen %s bad replies", f[badReplies])
	}
}
