package main

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
)

// TestWait: if a server does not answer, the command ends, and says which kind of silence it was.
func TestWait(t *testing.T) {
	t.Parallel()
	mute := listening(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	full := dropping(t)
	closed := deadport.New(t, "127.0.0.1").String()
	_, port, _ := net.SplitHostPort(mute)
	for _, tt := range []struct{ url, want string }{
		{"tcp://" + mute + "/a", "port " + mute + " takes connections, but does not answer the first call for 250ms"},
		{"rdma://" + mute + "/a", "port " + mute + " takes connections, but does not answer for 250ms"},
		{"tcp://127.0.0.1/a?rpcbind=" + port, "no answer from rpcbind at port " + mute + " for 250ms"},
		{"tcp://" + full + "/a", "no answer from port " + full + " for 250ms: is the host up, is a firewall in between"},
		{"rdma://" + full + "/a", "no answer from port " + full + " for 250ms: is the host up, is a firewall in between"},
		{"tcp://" + closed + "/a", "nothing listens at port " + closed},
		{"rdma://" + closed + "/a", "nothing listens at port " + closed},
	} {
		code, stdout, stderr := execute(t, "ls", "--wait", "250ms", tt.url)
		if code != cli.ExitFailed || stdout != "" || !strings.HasPrefix(stderr, "rpcrdma ls "+tt.url+": "+tt.want) {
			t.Errorf("%s: got %d, %q, want %q", tt.url, code, stderr, tt.want)
		}
	}
}

// TestWaitInTheMiddle: if a server stops answering, the command ends, too, and mentions its
// temporary file.
func TestWaitInTheMiddle(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	done(t, r.exec(t, "tcp", "put", "/proc/self/exe", "@/memory/file"))
	for scheme, addr := range map[string]string{"tcp": r.tcp, "rdma": r.rdma} {
		var silent atomic.Bool
		relay := listening(t, func(client net.Conn) {
			server, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer server.Close()
			go func() {
				defer client.Close()
				passed := 0
				p := make([]byte, 4096)
				for {
					n, err := server.Read(p)
					if passed += n; passed > 1<<20 {
						silent.Store(true)
					}
					if silent.Load() {
						<-t.Context().Done()
						return
					}
					if _, failed := client.Write(p[:n]); err != nil || failed != nil {
						return
					}
				}
			}()
			io.Copy(server, client)
		})
		url := scheme + "://" + relay + "/memory/file"
		code, _, stderr := execute(t, "get", "--wait", "2s", url, filepath.Join(t.TempDir(), "file"))
		want := "rpcrdma get " + url + ": the server is connected, but has not answered for 2s: does it hang"
		if code != cli.ExitFailed || !strings.HasPrefix(stderr, want) {
			t.Errorf("got %d, %q, want %q", code, stderr, want)
		}
	}
}

// TestWaitMount: MOUNT may be the program that does not answer.
func TestWaitMount(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--memory", "/a")
	mute := listening(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	_, port, _ := net.SplitHostPort(mute)
	url := "rdma://" + s.rdma + "/a?mountport=" + port
	code, _, stderr := execute(t, "ls", "--wait", "1s", url)
	if code != cli.ExitFailed || !strings.Contains(stderr, "has not answered for 1s") {
		t.Errorf("got %d, %q, want that MOUNT has not answered", code, stderr)
	}
}
