//go:build interop

package linux

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// kernelSCTP is the package for DDP on the kernel's SCTP.
const kernelSCTP = "github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/kernelsctp"

// sctpPacket is the room for an SCTP packet on the guest's network, in bytes.
const sctpPacket = 1500 - 20 - 8

// loadSCTP turns on SCTP over UDP in the guest's kernel, at port 9899.
const loadSCTP = `
set -e
modprobe sctp
sysctl -qw net.core.rmem_max=8388608 net.sctp.udp_port=9899 net.sctp.encap_port=9899
`

// TestSCTP has the kernel's SCTP as the peer. It runs the suite of package transporttest with the
// kernel at both ends, and an NFS session in each direction with our SCTP over UDP.
func TestSCTP(t *testing.T) {
	t.Parallel()
	size, skip := 16<<20, "^TestConformance$/^(abandon|refused)" // half of the time
	m := machine{UDP: []forward{{freePort(t), 9899}}}
	if *full {
		size, skip, m.Memory = 1<<30, "^$", 3<<10
	}
	g, sh := bootShells(t, m, 2)
	peer := g.program(t, "peer", "build", kernelSCTP+"/peer")
	suite := g.program(t, "suite", "test", "-c", kernelSCTP)
	sh[0].run(t, loadSCTP)

	t.Run("suite", func(t *testing.T) {
		out := sh[0].run(t, suite+" -test.v -test.run '^TestConformance$' -test.skip '"+skip+"'")
		if !strings.Contains(out, "--- PASS: TestConformance ") {
			t.Error(out)
		}
	})
	t.Run("kernel serves", func(t *testing.T) {
		sh[1].start(t, peer+" -kernel serve 192.0.2.15:2049 & echo PID $!; wait || true")
		pid := sh[1].await(t, "PID ")
		sh[1].await(t, "serving at ")
		out, err := ourPeer(g, m.UDP[0].Host, "copy", "127.0.0.1:2049", strconv.Itoa(size)).
			CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Error(err)
		}
		sh[0].run(t, "kill "+pid)
		sh[1].finish(t)
	})
	t.Run("kernel calls", func(t *testing.T) {
		udp := freePort(t)
		serve := ourPeer(g, udp, "serve", "127.0.0.1:2049")
		serve.Stderr = os.Stderr
		out, err := serve.StdoutPipe()
		if err == nil {
			err = serve.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = serve.Process.Kill()
			_ = serve.Wait() // that it was killed
		}()
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		t.Log(sh[0].run(t, fmt.Sprintf("sysctl -qw net.sctp.encap_port=%d\n"+
			"%s -kernel copy 192.0.2.2:2049 %d", udp, peer, size)))
	})
	g.closeShells(sh)
	g.wait(t, `sctp: Hash tables configured`)
}

// program builds a program for both sides with a go command, and returns its path in the guest.
func (g *guest) program(t *testing.T, name string, args ...string) string {
	t.Helper()
	args = slices.Insert(args, len(args)-1, "-o", filepath.Join(g.dir, name))
	build := exec.Command("go", args...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // the guest has not all libraries
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	return "/host/" + name
}

// ourPeer is the program peer on this machine, with our SCTP.
func ourPeer(g *guest, udp int, args ...string) *exec.Cmd {
	return exec.Command(filepath.Join(g.dir, "peer"), append([]string{
		"-udp", strconv.Itoa(udp), "-mtu", strconv.Itoa(sctpPacket),
	}, args...)...)
}
