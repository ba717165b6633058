//go:build interop

package linux

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/evidence"
)

// bootLimit ends a guest that hangs before its script begins. Without other load booting takes six
// seconds.
const bootLimit = 5 * time.Minute

// guestLimit returns the limit for the rest of a guest's life.
func guestLimit() time.Duration {
	if *full {
		return time.Hour
	}
	return 10 * time.Minute
}

// machine says what to boot.
type machine struct {
	Siw      string // the variant; empty: stock
	RXE      *card  // has rdma_rxe, on this card; nil: siw
	Script   string
	Files    map[string][]byte // in its /host
	Forwards []forward         // of TCP
	UDP      []forward
	Capture  string // the file for what passes its network card; none if empty
	Memory   int    // in MiB; 0: what run gives it
}

// forward forwards port Host of 127.0.0.1 to port Guest of the guest.
type forward struct{ Host, Guest int }

// guest is a Linux virtual machine that runs a script.
type guest struct {
	t     *testing.T
	dir   string // what the guest sees as /host
	lines chan string
	exit  chan error    // how the script ended; capacity 1
	over  chan struct{} // closed when it has
	stop  func()
	spare *shell // if it has any
	ended bool   // as it should
}

// boot starts a guest. The test may put more files into its /host. The guest ends with the test at
// the latest. If the test fails, and the guest had not ended as it should, the console is shown.
func boot(t *testing.T, m machine) *guest {
	t.Helper()
	g := start(t, m)
	timeout := time.After(bootLimit)
	for {
		select {
		case line, ok := <-g.lines:
			if !ok {
				t.Fatal("the guest ended before its script began")
			}
			if strings.HasPrefix(line, "GUEST-READY") {
				return g
			}
		case <-timeout:
			t.Fatalf("the guest did not boot in %v", bootLimit)
		}
	}
}

func start(t *testing.T, m machine) *guest {
	t.Helper()
	m.Siw = cmp.Or(m.Siw, stock)
	if out, err := exec.Command("./build", m.Siw).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", m.Siw, err, out)
	}
	g := &guest{
		t: t, dir: evidence.Dir(t),
		lines: make(chan string, 1000), exit: make(chan error, 1), over: make(chan struct{}),
	}
	for name, data := range m.Files {
		g.put(name, data)
	}
	g.put("script", []byte(m.Script))
	limit := bootLimit + guestLimit()
	args := []string{"-s", m.Siw, "-t", strconv.Itoa(int(limit.Seconds())), "-d", g.dir}
	for _, f := range m.Forwards {
		args = append(args, "-f", fmt.Sprintf("%d:%d", f.Host, f.Guest))
	}
	for _, f := range m.UDP {
		args = append(args, "-u", fmt.Sprintf("%d:%d", f.Host, f.Guest))
	}
	if m.RXE != nil {
		args = append(args, "-x", m.RXE.listener.Addr().String(), "-a", m.RXE.addr.String())
	}
	if m.Memory != 0 {
		args = append(args, "-m", strconv.Itoa(m.Memory))
	}
	if m.Capture != "" {
		args = append(args, "-p", m.Capture)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.stop = cancel
	cmd := exec.CommandContext(ctx, "./run", append(args, filepath.Join(g.dir, "script"))...)
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
		// shells are closed by now; a script that does not hang ends, and leaves dmesg
		if g.spare != nil && t.Failed() {
			select {
			case <-g.over:
			case <-time.After(3 * time.Second):
			}
		}
		cancel()
		<-g.over
		if t.Failed() && !g.ended {
			g.show("console", 200)
			g.show("dmesg", 40)
		}
	})
	return g
}

// read forwards the guest's output, and drops it once nobody reads it.
func (g *guest) read(r io.Reader) {
	for s := bufio.NewScanner(r); s.Scan(); {
		select {
		case g.lines <- s.Text():
		default:
		}
	}
}

// put makes a file in /host.
func (g *guest) put(name string, data []byte) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), data, 0o644); err != nil {
		g.t.Fatal(err)
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

// wait waits for the script to end. It must succeed, and the kernel's messages must have no lines
// except those of a healthy machine and the known ones.
func (g *guest) wait(t *testing.T, known ...string) {
	t.Helper()
	var failed error
	select {
	case failed = <-g.exit:
	case <-time.After(guestLimit()):
		t.Fatalf("the guest did not end in %v", guestLimit())
	}
	if failed != nil {
		t.Errorf("the guest's script failed: %v", failed)
	}
	dmesg, err := os.ReadFile(filepath.Join(g.dir, "dmesg"))
	if err != nil {
		t.Error(err)
	}
	lines := unhealthy(string(dmesg), known)
	for _, line := range lines {
		t.Errorf("the guest's kernel says %q", line)
	}
	g.ended = failed == nil && err == nil && len(lines) == 0
}

// freePort tries so many ports, from forwardBase on. They are below those that the kernel gives to
// programs that ask for any port (net.ipv4.ip_local_port_range begins with 32768). So no other
// program gets a port before the guest has it.
const forwardBase, forwardPorts = 10_000, 20_000

// forwardStart is where freePort begins, and forwarded how many ports it has tried.
var (
	forwardStart = rand.Int64N(forwardPorts)
	forwarded    atomic.Int64
)

// freePort returns a port of 127.0.0.1 that is free for TCP and UDP, a different one each time.
func freePort(t *testing.T) int {
	t.Helper()
	for range forwardPorts {
		p := forwardBase + int((forwardStart+forwarded.Add(1))%forwardPorts)
		l, err := net.Listen("tcp", local(p))
		if err != nil {
			continue
		}
		l.Close()
		if c, err := net.ListenPacket("udp", local(p)); err == nil {
			c.Close()
			return p
		}
	}
	t.Fatal("no port is free")
	return 0
}

// port returns the port of a TCP address.
func port(a net.Addr) int { return a.(*net.TCPAddr).Port }
