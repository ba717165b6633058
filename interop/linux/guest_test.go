//go:build interop

package linux

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// guestLimit ends a guest that hangs. One takes some ten seconds.
const guestLimit = 90 * time.Second

// bootLimit is how much of that booting may take.
const bootLimit = 45 * time.Second

// guest is a Linux in a virtual machine that runs a script.
type guest struct {
	t     *testing.T
	dir   string // what the guest sees as /host
	lines chan string
	exit  chan error    // how the script ended; capacity 1
	over  chan struct{} // closed when it has
	stop  func()
}

// forward lets port Host of 127.0.0.1 lead to port Guest of the guest.
type forward struct{ Host, Guest int }

// boot starts a guest with a variant of siw and files in its /host, where the test may put more. It ends with the test,
// at the latest, and if that fails the console is shown. An emulated machine may not come up on a loaded host; so there is a second attempt.
func boot(t *testing.T, siw, script string, files map[string][]byte, forwards ...forward) *guest {
	t.Helper()
	for range 2 {
		g := start(t, siw, script, files, forwards...)
		if g.ready() {
			return g
		}
		g.stop()
		<-g.over
		g.show("console", 50)
	}
	t.Fatalf("the guest did not boot in %v", bootLimit)
	return nil
}

// ready reports whether the guest has come as far as the script.
func (g *guest) ready() bool {
	timeout := time.After(bootLimit)
	for {
		select {
		case line, ok := <-g.lines:
			if !ok || strings.HasPrefix(line, "GUEST-READY") {
				return ok
			}
		case <-timeout:
			return false
		}
	}
}

func start(t *testing.T, siw, script string, files map[string][]byte, forwards ...forward) *guest {
	t.Helper()
	g := &guest{t: t, dir: t.TempDir(), lines: make(chan string, 1000), exit: make(chan error, 1), over: make(chan struct{})}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(g.dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(g.dir, "script")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-s", siw, "-t", strconv.Itoa(int(guestLimit.Seconds())), "-d", g.dir}
	for _, f := range forwards {
		args = append(args, "-f", fmt.Sprintf("%d:%d", f.Host, f.Guest))
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.stop = cancel
	cmd := exec.CommandContext(ctx, "./run", append(args, path)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	go func() {
		defer close(g.over)
		defer close(g.lines)
		g.read(out)
		err := cmd.Wait()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, stderr.String())
		}
		g.exit <- err
	}()
	t.Cleanup(func() {
		cancel()
		<-g.over
		if t.Failed() {
			g.show("console", 200)
			g.show("dmesg", 40)
		}
	})
	return g
}

// read passes on what the guest prints. What nobody awaits is dropped when there is too much of it.
func (g *guest) read(r io.Reader) {
	for s := bufio.NewScanner(r); s.Scan(); {
		select {
		case g.lines <- s.Text():
		default:
		}
	}
}

// show logs the end of a file in /host.
func (g *guest) show(name string, lines int) {
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return // it did not get that far
	}
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	g.t.Logf("the guest's %s (error %v):\n%s", name, err, strings.Join(all[max(0, len(all)-lines):], "\n"))
}

// await returns what follows prefix in the next line that begins with it.
func (g *guest) await(t *testing.T, prefix string) string {
	t.Helper()
	timeout := time.After(guestLimit)
	for {
		select {
		case line, ok := <-g.lines:
			if !ok {
				t.Fatalf("the guest ended and did not print %q", prefix)
			}
			if rest, found := strings.CutPrefix(line, prefix); found {
				return rest
			}
		case <-timeout:
			t.Fatalf("the guest did not print %q in %v", prefix, guestLimit)
		}
	}
}

// wait waits for the end of the script, which must succeed, with nothing for the kernel to complain about.
func (g *guest) wait(t *testing.T) {
	t.Helper()
	select {
	case err := <-g.exit:
		if err != nil {
			t.Errorf("the guest's script failed: %v", err)
		}
	case <-time.After(guestLimit):
		t.Fatalf("the guest did not end in %v", guestLimit)
	}
	dmesg, err := os.ReadFile(filepath.Join(g.dir, "dmesg"))
	if err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"WARNING:", "BUG:", "Oops", "Call Trace"} {
		if strings.Contains(string(dmesg), bad) {
			t.Errorf("the guest's kernel says %q", bad)
		}
	}
}

// freePort returns a port of 127.0.0.1 that nobody uses now.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return port(l.Addr())
}

// port returns the port of a TCP address.
func port(a net.Addr) int { return a.(*net.TCPAddr).Port }
