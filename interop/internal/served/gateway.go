package served

import (
	"bufio"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Gateway is the command rpcrdma gateway.
type Gateway struct {
	Port int // over TCP, on 127.0.0.1

	t   *testing.T
	log string // the file for its standard error
	cmd *exec.Cmd
}

// StartGateway starts a gateway with options on a port that it chooses. It ends with the test, at the latest; if that fails what it has
// logged is shown.
func StartGateway(t *testing.T, command string, options ...string) *Gateway {
	t.Helper()
	g := &Gateway{t: t, log: filepath.Join(t.TempDir(), "log")}
	g.cmd = exec.Command(command, append([]string{"gateway", "--listen", "127.0.0.1:0"}, options...)...)
	log, err := os.Create(g.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	g.cmd.Stderr = log
	out, err := g.cmd.StdoutPipe()
	if err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.Kill()
		if t.Failed() {
			t.Logf("the gateway's messages:\n%s", g.Log())
		}
	})
	timeout := time.AfterFunc(startLimit, g.kill)
	defer timeout.Stop()
	for lines := bufio.NewScanner(out); g.Port == 0 && lines.Scan(); {
		_, addr, _ := strings.Cut(lines.Text(), " on ")
		if ap, err := netip.ParseAddrPort(addr); err == nil {
			g.Port = int(ap.Port())
		}
	}
	if g.Port == 0 {
		g.Kill()
		t.Fatalf("the gateway did not come up:\n%s", g.Log())
	}
	return g
}

// Log returns what it has logged so far.
func (g *Gateway) Log() string {
	b, err := os.ReadFile(g.log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Kill ends the gateway as a crash would, if it has not ended.
func (g *Gateway) Kill() {
	if g.cmd.ProcessState == nil {
		g.kill()
		_ = g.cmd.Wait() // that it was killed
	}
}

// kill signals a process that may have ended meanwhile.
func (g *Gateway) kill() { _ = g.cmd.Process.Kill() }

// Stop has the gateway end in order.
func (g *Gateway) Stop() {
	g.t.Helper()
	timeout := time.AfterFunc(startLimit, g.kill)
	defer timeout.Stop()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
	if err := g.cmd.Wait(); err != nil {
		g.t.Errorf("the gateway ended with: %v", err)
	}
}
