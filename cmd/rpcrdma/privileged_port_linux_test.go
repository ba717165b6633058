package main

import (
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/probe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// advicePort is the advice to a caller that is refused because of its port.
const advicePort = "it may want calls from a port below 1024 (secure, the default of exports " +
	"files): add insecure to the export, or call as root, over TCP or iWARP"

// TestPrivilegedPort: an export without the option insecure is reached over RDMA and TCP from a
// port below 1024. A process that may not use one gets advice, from probe, too. A process that may
// is warned by probe that Linux over RDMA could not mount it.
func TestPrivilegedPort(t *testing.T) {
	s := serveFile(t, "/m *(rw,memory)\n")
	if !strings.Contains(s.greeting, "    not /m: Linux calls from a port above 1023 over RDMA, which needs the option insecure\n") {
		t.Errorf("greeting: %s", s.greeting)
	}
	conn, err := recordmark.DialPrivilegedTCP(t.Context(), net.Dialer{}, s.tcp)
	may := !errors.Is(err, recordmark.ErrNoPrivilegedPort)
	if err == nil {
		conn.Close()
	}
	for _, url := range []string{"tcp://" + s.tcp + "/m", "rdma://" + s.rdma + "/m"} {
		code, _, stderr := execute(t, "ls", url)
		if (code == cli.ExitOK) != may || !may && !strings.Contains(stderr, advicePort) {
			t.Errorf("%s, from a port below 1024 (%t): exit %d, %s", url, may, code, stderr)
		}
		r := probing{}.of(t, url)
		if may {
			r.find(t, "mount", probe.OK)
			if overRDMA := strings.HasPrefix(url, "rdma"); overRDMA {
				f := r.names(t, "root", probe.Warn, probe.CausePort1024)
				if !strings.Contains(f.Do, "add insecure to the options of the export") {
					t.Errorf("to do: %s", f.Do)
				}
				text := probing{}.text(t, url)
				if want := "can be used, but for: port-not-privileged.\n"; !strings.HasSuffix(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			} else if slices.ContainsFunc(r.Findings, isPort1024) {
				t.Errorf("over TCP, where Linux calls from a port below 1024:\n%s", r.lines())
			}
			continue
		}
		if f := r.names(t, "mount", probe.Fail, probe.CausePort1024); !strings.Contains(f.Do, advicePort) {
			t.Errorf("%s: to do: %s", url, f.Do)
		}
	}
}

// TestPrivilegedGateway: a gateway that may use ports below 1024 uses them only for clients that
// do. So it lets nobody in whom the server would refuse.
func TestPrivilegedGateway(t *testing.T) {
	s := serveFile(t, "/m *(rw,memory)\n")
	g := startGateway(t, nil, "--to", "rdma://"+s.rdma, "--mount-to", "tcp://"+s.tcp)
	high := user(t, dialTCP(t, g.tcp), 1000)
	if _, err := high.Mount(t.Context(), "/m"); !errors.Is(err, mount3.ErrAcces) {
		t.Errorf("MNT from a port above 1023: %v", err)
	}
	conn, err := recordmark.DialPrivileged(t.Context(), g.tcp, recordmark.Config{})
	if errors.Is(err, recordmark.ErrNoPrivilegedPort) {
		return // nor may the gateway use one
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	low := user(t, conn, 1000)
	root, err := low.Mount(t.Context(), "/m")
	if err != nil {
		t.Fatalf("MNT from %v: %v", conn.LocalAddr(), err)
	}
	if _, err := low.GetAttr(t.Context(), root); err != nil {
		t.Errorf("GETATTR from %v: %v", conn.LocalAddr(), err)
	}
	if _, err := high.GetAttr(t.Context(), root); !errors.Is(err, nfs3.ErrAcces) {
		t.Errorf("GETATTR from a port above 1023: %v", err)
	}
}

// TestProbeInsecure: probe does not warn of ports if the export has the option insecure.
func TestProbeInsecure(t *testing.T) {
	s := serveFile(t, "/m *(rw,insecure,memory)\n")
	r := probing{}.of(t, "rdma://"+s.rdma+"/m")
	if !r.OK || slices.ContainsFunc(r.Findings, isPort1024) {
		t.Errorf("ok is %v\n%s", r.OK, r.lines())
	}
}

func isPort1024(f probe.Finding) bool {
	return f.Cause == probe.CausePort1024 || strings.Contains(f.Found, "ports above 1023")
}

// TestUnprivilegedRoCE: over RoCE there are no ports below 1024. Commands say what to do.
func TestUnprivilegedRoCE(t *testing.T) {
	f := &exportsFile{path: filepath.Join(t.TempDir(), "exports")}
	f.write(t, "/m *(rw,memory)\n")
	s := startRoCE(t, "--exports", f.path)
	url := "rdma+roce://" + s.rdma + "/m"
	code, _, stderr := execute(t, "ls", url)
	if code == cli.ExitOK || !strings.Contains(stderr, "MNT3ERR_ACCES") ||
		!strings.Contains(stderr, advicePort) {
		t.Errorf("exit %d, %s", code, stderr)
	}
	r := probing{}.of(t, url)
	if f := r.names(t, "mount", probe.Fail, probe.CausePort1024); !strings.Contains(f.Do, advicePort) {
		t.Errorf("to do: %s", f.Do)
	}
}
