package main

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/probe"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// advicePort is the advice to a caller that is refused because of its port.
const advicePort = "it may want calls from a port below 1024 (secure, the default of exports " +
	"files): add insecure to the export, or call as root, over TCP or iWARP"

// TestPrivilegedPort: an export without the option insecure is reached over RDMA and TCP from a
// port below 1024. A process that may not use one gets advice, from probe, too.
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
			continue
		}
		if f := r.names(t, "mount", probe.Fail, probe.CausePort1024); !strings.Contains(f.Do, advicePort) {
			t.Errorf("%s: to do: %s", url, f.Do)
		}
	}
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
