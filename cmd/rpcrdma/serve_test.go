package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// TestServe: a file written over one port can be read over the other.
func TestServe(t *testing.T) {
	for _, tt := range []struct {
		name string
		args string
	}{
		{"default", ""},
		{"CRC", "--crc on"},
		{"no CRC, markers", "--crc off --markers"},
		{"least inline, one credit", "--inline 1024 --credits 1"},
		{"most inline, many credits", "--inline 65536 --credits 4096"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := startServe(t, append(strings.Fields(tt.args), "--memory", "/export", "--squash", "none")...)
			if want := "serving /export (memory, 4GiB, read-write, no squashing)\n"; !strings.HasPrefix(s.greeting, want) {
				t.Errorf("got\n%swant at its beginning\n%s", s.greeting, want)
			}
			exchange(t, s, rig.Pattern(1<<20+3))
			if code := s.stop(); code != cli.ExitOK || !strings.Contains(s.stderr.String(), "msg=drained\n") {
				t.Errorf("exit %d: %v", code, s.stderr)
			}
		})
	}
}

// exchange writes data over RDMA to a file up of /export, and over TCP to a file down, and reads
// each the other way.
func exchange(t *testing.T, s *serveCommand, data []byte) {
	t.Helper()
	uid := uint32(os.Getuid())
	rdma := mountAs(t, dialRDMA(t, s.rdma), uid, "/export")
	tcp := mountAs(t, dialTCP(t, s.tcp), uid, "/export")
	if got := tcp.get(t, rdma.put(t, "up", data)); !bytes.Equal(got, data) {
		t.Errorf("over TCP %d bytes that are not the %d that were written over RDMA", len(got),
			len(data))
	}
	if got := rdma.get(t, tcp.put(t, "down", data)); !bytes.Equal(got, data) {
		t.Errorf("over RDMA %d bytes that are not the %d that were written over TCP", len(got),
			len(data))
	}
}

// TestServeMountCommands: the mount commands name the ports and the exports, quoted for a shell.
func TestServeMountCommands(t *testing.T) {
	s := startServe(t, "--memory", "/my files", "--memory", "/other", "--memory-size", "64MiB")
	_, rdma, _ := net.SplitHostPort(s.rdma)
	_, tcp, _ := net.SplitHostPort(s.tcp)
	byRDMA := "    mount -t nfs -o vers=3,rdma,port=" + rdma + ",mountport=" + tcp + ",mountproto=tcp,nolock,noresvport "
	want := "\nto mount it from Linux:\n" +
		byRDMA + "'127.0.0.1:/my files' /mnt\n" +
		byRDMA + "127.0.0.1:/other /mnt\n" +
		"or without RDMA on the client:\n" +
		"    mount -t nfs -o vers=3,tcp,port=" + tcp + ",mountport=" + tcp + ",mountproto=tcp,nolock '127.0.0.1:/my files' /mnt\n"
	if !strings.HasSuffix(s.greeting, want) {
		t.Errorf("got\n%swant at its end%s", s.greeting, want)
	}
	for _, want := range []string{"serving /my files (memory, 64MiB, ", "\nserving /other (memory, 64MiB, "} {
		if !strings.Contains(s.greeting, want) {
			t.Errorf("no %q in\n%s", want, s.greeting)
		}
	}
}

// TestServeWithoutTCP: MOUNT is served over RDMA, too.
func TestServeWithoutTCP(t *testing.T) {
	for _, mount := range []string{"none", ""} {
		s := startServe(t, "--memory", "/export", "--mount", mount)
		if s.tcp != "" || strings.Contains(s.greeting, "mount -t nfs") || !strings.Contains(s.greeting, "\nLinux cannot mount this: it needs MOUNT over TCP") {
			t.Errorf("--mount %q: it says\n%s", mount, s.greeting)
		}
		mountAs(t, dialRDMA(t, s.rdma), 0, "/export").put(t, "file", rig.Pattern(100))
	}
}

func TestServeReadOnly(t *testing.T) {
	s := startServe(t, "--memory", "/a", "--memory", "/b", "--read-only", "--squash", "none")
	if n := strings.Count(s.greeting, ", read-only, "); n != 2 {
		t.Errorf("%d exports are read-only, want 2:\n%s", n, s.greeting)
	}
	for _, name := range []string{"/a", "/b"} {
		m := mountAs(t, dialRDMA(t, s.rdma), 0, name)
		if _, err := m.Create(t.Context(), m.root, "new", nfs3.CreateHow{}); !errors.Is(err, nfs3.ErrROFS) {
			t.Errorf("%s: CREATE: %v, want %v", name, err, nfs3.ErrROFS)
		}
	}
}

// TestServeSquash: the owners of files that users make. Everybody may make files in the root of a
// file system in memory.
func TestServeSquash(t *testing.T) {
	for _, tt := range []struct {
		args   string
		caller uint32
		uid    uint32
		gid    uint32
		says   string
	}{
		{"", 0, 65534, 65534, ", root squashed to 65534:65534)"},
		{"", 1000, 1000, 1000, ", root squashed to 65534:65534)"},
		{"--squash root --anonuid 77 --anongid 88", 0, 77, 88, ", root squashed to 77:88)"},
		{"--squash all --anonuid 77 --anongid 88", 1000, 77, 88, ", all squashed to 77:88)"},
		{"--squash none", 0, 0, 0, ", no squashing)"},
		{"--squash none", 1000, 1000, 1000, ", no squashing)"},
	} {
		args := append(strings.Fields(tt.args), "--memory", "/export", "--debug=127.0.0.1:0")
		s := startServe(t, args...)
		if !strings.Contains(s.greeting, tt.says) {
			t.Errorf("%q: no %q in\n%s", tt.args, tt.says, s.greeting)
		}
		m := mountAs(t, dialTCP(t, s.tcp), tt.caller, "/export")
		a, err := m.GetAttr(t.Context(), m.put(t, "file", nil))
		if err != nil {
			t.Fatal(err)
		}
		if a.UID != tt.uid || a.GID != tt.gid {
			t.Errorf("%q: files of user %d are of %d:%d, want %d:%d", tt.args, tt.caller, a.UID,
				a.GID, tt.uid, tt.gid)
		}
		s.stop()
	}
}

// TestServeAllow: every port closes connections that --allow does not name before it reads from
// them.
func TestServeAllow(t *testing.T) {
	for _, tt := range []struct {
		args string
		says string
		want bool
	}{
		{"--allow 192.0.2.0/24", ", for 192.0.2.0/24)", false},
		{"--allow 192.0.2.77/24 --allow 2001:db8::/32", ", for 192.0.2.0/24 2001:db8::/32)", false},
		{"--allow 127.0.0.2", ", for 127.0.0.2/32)", true}, // as 127.0.0.1
		{"--allow 192.0.2.0/24 --allow 127.0.0.1", ", for 192.0.2.0/24 127.0.0.1/32)", true},
		{"--allow 127.0.0.0/8", ", for 127.0.0.0/8)", true},
		{"--allow ::ffff:127.0.0.1", ", for 127.0.0.1/32)", true},
		{"--allow ::ffff:127.0.0.0/104", ", for 127.0.0.0/8)", true},
	} {
		args := append(strings.Fields(tt.args), "--memory", "/export", "--debug=127.0.0.1:0")
		s := startServe(t, args...)
		if !strings.Contains(s.greeting, tt.says) {
			t.Errorf("%q: no %q in\n%s", tt.args, tt.says, s.greeting)
		}
		if tt.want {
			for _, conn := range []oncrpc.Transport{dialRDMA(t, s.rdma), dialTCP(t, s.tcp)} {
				if _, err := user(t, conn, 1000).Mount(t.Context(), "/export"); err != nil {
					t.Errorf("%q: MNT: %v", tt.args, err)
				}
			}
		} else {
			for _, port := range []string{s.rdma, s.tcp, s.rdma, s.tcp} {
				conn, err := net.Dial("tcp", port)
				if err != nil {
					continue // it has been closed by then
				}
				conn.SetReadDeadline(time.Now().Add(10 * time.Second))
				if n, err := conn.Read(make([]byte, 1)); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%q: a connection that has said nothing: %d bytes, %v", tt.args, n, err)
				}
				conn.Close()
			}
			var counters struct{ Excluded int }
			for deadline := time.Now().Add(10 * time.Second); counters.Excluded < 4; {
				if err := json.Unmarshal(fetch(t, s.debugURL(t)+"/debug/vars"), &counters); err != nil {
					t.Fatal(err)
				}
				if time.Now().After(deadline) {
					t.Fatalf("%q: %d connections are counted, want 4", tt.args, counters.Excluded)
				}
			}
		}
		s.stop()
		want := 1 // of a host, one is aloud
		if tt.want {
			want = 0
		}
		if n := strings.Count(s.stderr.String(), "refused a client that --allow does not name"); n != want {
			t.Errorf("%q: %d refusals logged, want %d:\n%s", tt.args, n, want, s.stderr)
		}
	}
}
