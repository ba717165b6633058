//go:build interop

package linux

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/iofs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// TestModel makes random system calls on Linux's mounts. It compares the files with a model of
// them, immediately and after mounting again. It also enters mounts below an export, and reads an
// archive.
func TestModel(t *testing.T) {
	t.Parallel()
	g, sh := bootShells(t, machine{}, 1)
	program := filepath.Join(t.TempDir(), "guestmodel")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./guestmodel")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	g.put("guestmodel", b)
	sh[0].run(t, "cp /host/guestmodel /tmp/guestmodel && chmod 755 /tmp/guestmodel")
	steps := 1000
	if *full {
		steps = 20_000
	}
	for name, by := range map[string][]string{"kernel": nil, "names": withoutHandles} {
		s := serveBy(t, by)
		for _, export := range exports {
			if by != nil && export == memory {
				continue // it has no handles of the kernel's
			}
			t.Run(name+export, func(t *testing.T) {
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				for round := range 2 {
					m := s.mount(t, sh[0], export)
					if round == 0 {
						sh[0].run(t, fmt.Sprintf("mkdir %s/model && /tmp/guestmodel %[1]s/model %d %d /tmp/model",
							m.at, seed, steps))
					} else {
						sh[0].run(t, fmt.Sprintf("/tmp/guestmodel %s/model /tmp/model", m.at))
					}
					m.unmount(t)
				}
			})
		}
		s.stop(t)
	}
	t.Run("crossmnt", func(t *testing.T) { crossMnt(t, sh[0]) })
	t.Run("archive", func(t *testing.T) { readArchive(t, sh[0]) })
	g.closeShells(sh)
	g.wait(t)
}

// crossMnt enters mounts below an export.
func crossMnt(t *testing.T, sh *shell) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "exports")
	inner := filepath.Join(dir, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", inner, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(inner, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for name, data := range map[string]string{"outside": "one", "inner/inside": "two"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	line := dir + " *(rw,insecure,no_root_squash,crossmnt)\n"
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--exports", file)
	m := s.mount(t, sh, dir)
	got := sh.run(t, fmt.Sprintf(`set -e
cd %s
cat outside inner/inside
[ "$(stat -c %%d .)" != "$(stat -c %%d inner/inside)" ] && echo " two devices"
echo three >inner/made
cd /
umount %[1]s/inner`, m.at))
	if got != "onetwo two devices" {
		t.Errorf("the guest says %q", got)
	}
	if b, err := os.ReadFile(filepath.Join(inner, "made")); string(b) != "three\n" {
		t.Errorf("what the guest made is %q, %v", b, err)
	}
	m.unmount(t)
	s.stop(t)
}

// readArchive reads the files of an archive.
func readArchive(t *testing.T, sh *shell) {
	data := random(t, 3<<20)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, data := range map[string][]byte{"large": data, "doc/manual": []byte("chapter 1\n")} {
		to, err := w.Create(name)
		if err == nil {
			_, err = to.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{
		{Path: "/archive", FS: iofs.New(archive, iofs.Config{})}}})
	if err != nil {
		t.Fatal(err)
	}
	rpc := oncrpc.NewServer(oncrpc.ServerConfig{})
	if err := rpc.Handle(nfs.Programs()...); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	rdma, err := iwarp.Listen(ctx, "127.0.0.1:0", iwarp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 2)
	go func() { served <- rpcrdma.Serve(ctx, rdma, rpc, rpcrdma.Config{}) }()
	go func() { served <- recordmark.Serve(ctx, tcp, rpc, recordmark.Config{}) }()
	m := newMount(t, sh, "192.0.2.2:/archive", "vers=3", "proto=rdma",
		fmt.Sprintf("port=%d", rdma.Addr().(*net.TCPAddr).Port),
		fmt.Sprintf("mountport=%d", tcp.Addr().(*net.TCPAddr).Port), "mountproto=tcp", "nolock", "noresvport")
	got := sh.run(t, fmt.Sprintf("cd %s\nsha256sum <large\ncat doc/manual\nls doc\n! touch x 2>/dev/null && echo refused", m.at))
	if want := fmt.Sprintf("%x  -\nchapter 1\nmanual\nrefused", sha256.Sum256(data)); got != want {
		t.Errorf("the guest says %q, want %q", got, want)
	}
	sh.run(t, "cd /")
	m.unmount(t)
	if err := rpc.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	for range 2 {
		<-served
	}
}
