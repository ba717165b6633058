//go:build interop

package debian

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

const (
	serveUnit, gatewayUnit = "rpcrdma-serve", "rpcrdma-gateway"

	exportsFile = "/etc/rpcrdma/exports"
	stateDir    = "/var/lib/rpcrdma"
)

// gatewayUser is the user of the gateway.
const gatewayUser = "rpcrdma-gateway"

// TestPackage goes through the life of an installation.
func TestPackage(t *testing.T) {
	if err := exec.Command("dpkg", "-s", "rpcrdma").Run(); err == nil {
		t.Fatal("the package rpcrdma is installed on this host, and this test would purge it")
	}
	dir := t.TempDir()
	first, second := build(t, dir, "v0.0.1"), build(t, dir, "v0.0.2")
	_, err := user.Lookup(gatewayUser)
	known := err == nil
	t.Cleanup(func() {
		dpkg(t, "--purge", "rpcrdma")
		if !known {
			run(t, "userdel", gatewayUser)
		}
	})
	dpkg(t, "-i", first)
	t.Run("installed", installed)

	rdma, tcp, through := free(t), free(t), free(t)
	data, more := filepath.Join(dir, "data"), filepath.Join(dir, "more")
	exports := data + " *(rw,no_root_squash,insecure)\n"
	for _, d := range []string{data, more} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write(t, exportsFile, exports)
	write(t, "/etc/default/rpcrdma-serve", fmt.Sprintf("OPTIONS=\"--listen %s --mount %s\"\n", rdma,
		tcp))
	write(t, "/etc/rpcrdma/gateway.toml", fmt.Sprintf("to = \"rdma://%s\"\nlisten = %q\n", rdma,
		through))
	serve := start(t, serveUnit)
	files := dial(t, rdma, data)
	privileges(t, files, data)

	write(t, exportsFile, exports+more+" *(rw,insecure)\n")
	serve.reload()
	if list := run(t, "rpcrdma", "ls", "rdma://"+rdma); !strings.Contains(list, more) {
		t.Errorf("%s is not exported after reloading:\n%s", more, list)
	}

	gateway := start(t, gatewayUnit)
	list := run(t, "rpcrdma", "ls", "tcp://"+through+data)
	if !strings.Contains(list, "device") {
		t.Errorf("through the gateway: %q", list)
	}
	gateway.stop()

	w := newWriter(t, files, "file")
	w.await(8)
	dpkg(t, "-i", second)
	if got := run(t, "rpcrdma", "version"); !strings.HasPrefix(got, "rpcrdma version v0.0.2 ") {
		t.Errorf("after the upgrade: %s", got)
	}
	if b, err := os.ReadFile(exportsFile); err != nil || string(b) != exports+more+
		" *(rw,insecure)\n" {
		t.Errorf("after the upgrade %s has %q, %v", exportsFile, b, err)
	}
	serve.stop()
	serve = start(t, serveUnit)
	w.await(8)
	w.stop(filepath.Join(data, "file"))
	serve.stop()

	dpkg(t, "--remove", "rpcrdma")
	there(t, false, "/usr/bin/rpcrdma", "/usr/lib/systemd/system/rpcrdma-serve.service")
	there(t, true, exportsFile, stateDir)
	dpkg(t, "--purge", "rpcrdma")
	there(t, false, "/etc/rpcrdma", "/etc/default/rpcrdma-serve", stateDir)
}

// dpkg runs dpkg once the lock is free, because dpkg itself does not wait.
func dpkg(t *testing.T, args ...string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		out, err := exec.Command("dpkg", args...).CombinedOutput()
		if err == nil {
			return
		}
		if !strings.Contains(string(out), "lock was locked") || time.Now().After(deadline) {
			t.Fatalf("dpkg %v: %v\n%s", args, err, out)
		}
	}
}

// build builds a version of the package.
func build(t *testing.T, dir, version string) (file string) {
	t.Helper()
	script := exec.Command("../../deploy/release/build", "package")
	script.Env = append(os.Environ(), "VERSION="+version, "OUT="+dir)
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", script, err, out)
	}
	return filepath.Join(dir, fmt.Sprintf("rpcrdma_%s_amd64.deb", version[1:]))
}

// installed checks the files that the package installed.
func installed(t *testing.T) {
	if got := run(t, "rpcrdma", "--version"); !strings.HasPrefix(got, "rpcrdma version v0.0.1 go") {
		t.Errorf("got %s", got)
	}
	units := []string{serveUnit + ".service", gatewayUnit + ".service"}
	if out := run(t, append([]string{"systemd-analyze", "verify"}, units...)...); out != "" {
		t.Errorf("systemd-analyze verify: %s", out)
	}
	for i, most := range []string{"35", "20"} { // of 100: what a unit may do to the host
		run(t, "systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold="+most,
			units[i])
	}
	if _, err := user.Lookup(gatewayUser); err != nil {
		t.Error(err)
	}
	pages, err := filepath.Glob("/usr/share/man/man1/rpcrdma*.1.gz")
	if err != nil || len(pages) < 20 {
		t.Errorf("%d man pages: %v", len(pages), err)
	}
	for _, page := range pages {
		out := run(t, "sh", "-c", `zcat "$0" | groff -ww -man -Tutf8 -z 2>&1`, page)
		if out != "" {
			t.Errorf("%s: %s", page, out)
		}
	}
	completed := run(t, "bash", "-c",
		". /usr/share/bash-completion/completions/rpcrdma && complete -p rpcrdma")
	if !strings.HasSuffix(completed, " rpcrdma\n") {
		t.Errorf("bash completes: %s", completed)
	}
	// As they are delivered, the files make a server that serves nothing yet.
	start(t, serveUnit).stop()
}

// dial returns the files of an export as root sees them, over a transport that reconnects.
func dial(t *testing.T, addr, export string) *nfsfs.FS {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	conn, err := redial.New(t.Context(), func(ctx context.Context) (oncrpc.Transport, error) {
		return rpcrdma.Dial(ctx, iwarp.Dialer{Config: iwarp.Config{Logger: quiet}}, addr,
			rpcrdma.Config{Logger: quiet})
	}, redial.Config{Wait: patience, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		<-conn.Done()
	})
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{})
	if err != nil {
		t.Fatal(err)
	}
	c := nfsclient.New(conn, cred)
	root, err := c.Mount(t.Context(), export)
	if err != nil {
		t.Fatal(err)
	}
	return nfsfs.New(c, root, nfsfs.Config{})
}

// privileges does something that needs each of the unit's capabilities, except ports below 1024.
func privileges(t *testing.T, files *nfsfs.FS, dir string) {
	t.Helper()
	ctx := t.Context()
	f, err := files.OpenFile(ctx, "given", os.O_CREATE|os.O_WRONLY, 0o666)
	if err == nil {
		err = f.Close()
	}
	device := nfs3.Specdata{Major: 1, Minor: 3}
	for _, err := range []error{
		err,
		files.Chown(ctx, "given", 1234, 5678), // CAP_CHOWN
		files.Chmod(ctx, "given", fs.ModeSetgid|0o701),          // CAP_FOWNER, CAP_FSETID
		files.Mknod(ctx, "device", nfs3.TypeChr, device, 0o640), // CAP_MKNOD
		files.Mkdir(ctx, "closed", 0o700),
		files.Chown(ctx, "closed", 1234, 5678),
		files.Mkdir(ctx, "closed/in it", 0o755), // CAP_DAC_OVERRIDE
	} {
		if err != nil {
			t.Error(err)
		}
	}
	var got syscall.Stat_t
	if err := syscall.Stat(filepath.Join(dir, "given"), &got); err != nil || got.Uid != 1234 ||
		got.Gid != 5678 || got.Mode != syscall.S_IFREG|syscall.S_ISGID|0o701 {
		t.Errorf("given: user %d, group %d, mode %o, %v", got.Uid, got.Gid, got.Mode, err)
	}
	err = syscall.Stat(filepath.Join(dir, "device"), &got)
	if err != nil || got.Mode != syscall.S_IFCHR|0o640 || got.Rdev != 1<<8|3 {
		t.Errorf("device: mode %o, number %#x, %v", got.Mode, got.Rdev, err)
	}
}

// blockSize is how much a writer writes at a time.
const blockSize = 64 << 10

// block returns the bytes at a place.
func block(i int64) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8), 3, 7}, blockSize/4) }

// writer writes to a file until it is stopped.
type writer struct {
	t       *testing.T
	written atomic.Int64 // blocks
	ending  atomic.Bool
	ended   chan error
}

func newWriter(t *testing.T, files *nfsfs.FS, name string) *writer {
	t.Helper()
	f, err := files.Create(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{t: t, ended: make(chan error, 1)}
	go func() {
		var err error
		for i := int64(0); err == nil && !w.ending.Load(); i++ {
			if _, err = f.WriteAt(block(i), i*blockSize); err == nil {
				err = f.Sync()
			}
			w.written.Store(i + 1)
		}
		w.ended <- errors.Join(err, f.Close())
	}()
	return w
}

// await waits until it has written that many more blocks.
func (w *writer) await(more int64) {
	w.t.Helper()
	want := w.written.Load() + more
	for deadline := time.Now().Add(patience); w.written.Load() < want; {
		if time.Now().After(deadline) {
			w.t.Fatalf("%d blocks are written, want %d", w.written.Load(), want)
		}
		time.Sleep(time.Millisecond)
	}
}

// stop stops the writer, and compares the content of the file.
func (w *writer) stop(path string) {
	w.t.Helper()
	w.ending.Store(true)
	if err := <-w.ended; err != nil {
		w.t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	got := make([]byte, blockSize)
	for i := range w.written.Load() {
		if _, err := io.ReadFull(f, got); err != nil || !bytes.Equal(got, block(i)) {
			w.t.Fatalf("block %d of %d is not what was written: %v", i, w.written.Load(), err)
		}
	}
	if n, err := f.Read(got); n != 0 || err != io.EOF {
		w.t.Errorf("the file is longer: %v", err)
	}
}

// there fails the test if files do not exist, or if they do and want is false.
func there(t *testing.T, want bool, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if _, err := os.Lstat(p); (err == nil) != want {
			t.Errorf("%s is there: %v; want %v", p, err == nil, want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// free returns an address with a free port.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
