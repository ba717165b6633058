package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// newRemotes returns the Session of a command with flags, and its standard error.
func newRemotes(t *testing.T, flags ...string) (*remote.Session, *transcript) {
	t.Helper()
	var r remote.Session
	stderr := newTranscript()
	cmd := &cobra.Command{}
	cmd.SetErr(stderr)
	r.AddFlags(cmd)
	if err := cmd.ParseFlags(flags); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return &r, stderr
}

// url returns a URL of a server.
func (s *serveCommand) url(scheme, path string) string {
	return scheme + "://" + map[string]string{"rdma": s.rdma, "tcp": s.tcp}[scheme] + path
}

// TestRemoteOpen: each export is mounted once, over one connection to the server, until the end.
func TestRemoteOpen(t *testing.T) {
	s := startServe(t, "--memory", "/a", "--memory", "/a b/c")
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			r, stderr := newRemotes(t)
			seen := make(map[string]*remote.Export)
			for _, tt := range []struct{ path, export, name string }{
				{"/a", "/a", "."},
				{"/a/", "/a", "."},
				{"/a/x/y/", "/a", "x/y"},
				{"/a/%FF", "/a", "\xff"},
				{"/a%20b/c/x", "/a b/c", "x"},
				{"/a%20b/c", "/a b/c", "."},
			} {
				m, name, err := r.Open(t.Context(), s.url(scheme, tt.path))
				if err != nil {
					t.Fatal(err)
				}
				if m.Root.Export != tt.export || name != tt.name {
					t.Errorf("%s: got %s and %s, want %s and %s", tt.path, m.Root.Export, name,
						tt.export, tt.name)
				}
				if was := seen[tt.export]; was != nil && was != m {
					t.Errorf("%s: a second mount of the same export", tt.path)
				}
				seen[tt.export] = m
				if a, err := m.Client.GetAttr(t.Context(), m.Root.Handle); err != nil || a.Type != nfs3.TypeDir {
					t.Errorf("%s: got %+v, %v, want a directory", tt.path, a, err)
				}
			}
			if got := len(r.Servers); got != 1 {
				t.Errorf("%d servers, want 1", got)
			}
			conn := dialTCP(t, s.tcp)
			mounts := func() (paths []string) {
				t.Helper()
				list, err := nfsclient.Dump(t.Context(), conn, oncrpc.AuthNone())
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range list {
					paths = append(paths, m.Path)
				}
				return paths
			}
			if diff := cmp.Diff([]string{"/a", "/a b/c"}, mounts()); diff != "" {
				t.Errorf("mounted (-want +got)\n%s", diff)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if got := mounts(); got != nil {
				t.Errorf("mounted in the end: %q, want nothing", got)
			}
			if got := stderr.String(); got != "" {
				t.Errorf("on standard error: %q", got)
			}
		})
	}
}

// TestRemoteExports: the exports of a server, whatever the path of the URL.
func TestRemoteExports(t *testing.T) {
	s := startServe(t, "--memory", "/a", "--memory", "/b")
	for _, scheme := range schemes {
		r, _ := newRemotes(t)
		list, err := r.Exports(t.Context(), s.url(scheme, "/"))
		if err != nil || len(list) != 2 || list[0].Path != "/a" || list[1].Path != "/b" {
			t.Errorf("%s: got %+v, %v, want /a and /b", scheme, list, err)
		}
	}
}

// TestRemoteMountPort: commands call MOUNT at the mountport of the URL.
func TestRemoteMountPort(t *testing.T) {
	s := startServe(t, "--memory", "/a")
	other := startServe(t, "--memory", "/b")
	_, port, _ := strings.Cut(other.tcp, ":")
	r, _ := newRemotes(t)
	list, err := r.Exports(t.Context(), s.url("rdma", "/?mountport="+port))
	if err != nil || len(list) != 1 || list[0].Path != "/b" {
		t.Errorf("got %+v, %v, want /b", list, err)
	}
	if _, _, err := r.Open(t.Context(), s.url("rdma", "/a?mountport=1")); err == nil ||
		!strings.Contains(err.Error(), "no MOUNT service at 127.0.0.1: MOUNT at TCP port 127.0.0.1:1: ") {
		t.Errorf("got %v, want that there is no MOUNT service at port 1", err)
	}
}

// TestRemoteIdentity: calls have the identity of the flags.
func TestRemoteIdentity(t *testing.T) {
	s := startServe(t, "--memory", "/a", "--squash", "none")
	r, _ := newRemotes(t, "--uid", "1234", "--gid", "5", "--groups", "6,7")
	m, _, err := r.Open(t.Context(), s.url("tcp", "/a"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := m.Client.Create(t.Context(), m.Root.Handle, "file",
		nfs3.CreateHow{Mode: nfs3.Guarded})
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Client.GetAttr(t.Context(), o.File)
	if err != nil || a.UID != 1234 || a.GID != 5 {
		t.Errorf("the file belongs to %d:%d, %v, want 1234:5", a.UID, a.GID, err)
	}
	// Only members of a group may give files to it.
	for group, want := range map[uint32]error{7: nil, 8: nfs3.ErrPerm} {
		_, err := m.Client.SetAttr(t.Context(), o.File,
			nfs3.Sattr{GID: nfs3.Set32{Set: true, To: group}}, nil)
		if !errors.Is(err, want) {
			t.Errorf("to group %d: got %v, want %v", group, err, want)
		}
	}
}

// TestRemoteFlags: connections follow the flags.
func TestRemoteFlags(t *testing.T) {
	s := startServe(t, "--memory", "/a")
	r, _ := newRemotes(t, "--size", "2MiB", "--parallel", "3", "--credits", "9", "--inline",
		"8KiB", "--crc", "on", "--connections", "2", "--wait", "1m30s",
		"--groups", "")
	f := r.Flags
	got := []any{int(f.Size), f.Parallel.N, f.Credits.N, int(f.Inline), f.CRC.Name,
		f.Connections.N, f.Wait.String(), len(f.Gids)}
	if diff := cmp.Diff([]any{2 << 20, 3, 9, 8192, "on", 2, "1m30s", 0}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, scheme := range schemes {
		if _, _, err := r.Open(t.Context(), s.url(scheme, "/a")); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

func TestRemoteFlagErrors(t *testing.T) {
	tests := []struct{ flag, value, want string }{
		{"--size", "1000", "write a size from 1KiB to 64MiB"},
		{"--size", "65MiB", "write a size from 1KiB to 64MiB"},
		{"--size", "much", "write a number of bytes"},
		{"--parallel", "0", "write a number from 1 to 4096"},
		{"--parallel", "4097", "write a number from 1 to 4096"},
		{"--credits", "x", "write a number from 1 to 4096"},
		{"--connections", "65", "write a number from 1 to 64"},
		{"--inline", "512", "write a multiple of 1KiB up to 64KiB"},
		{"--inline", "1500", "write a multiple of 1KiB up to 64KiB"},
		{"--inline", "65KiB", "write a multiple of 1KiB up to 64KiB"},
		{"--inline", "4 kB", "write a number of bytes"},
		{"--crc", "yes", "write one of auto, on, off"},
		{"--wait", "10", "write a number and its unit (s, m or h)"},
		{"--wait", "-1s", "write a number and its unit (s, m or h)"},
		{"--uid", "no-such-user", "this host has no user of that name"},
		{"--gid", "-1", "write a number from 0 to 4294967294"},
		{"--gid", "no-such-group", "this host has no group of that name"},
		{"--uid", "4294967295", "write a number from 0 to 4294967294"},
		{"--groups", "1,,2", "or several, separated by commas"},
		{"--groups", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "a call has room for 16 groups"},
	}
	for _, tt := range tests {
		var r remote.Session
		cmd := &cobra.Command{}
		r.AddFlags(cmd)
		if err := cmd.ParseFlags([]string{tt.flag, tt.value}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: got %v, want %s", tt.flag, tt.value, err, tt.want)
		}
	}
}

// TestRemoteBack: calls wait until a server is back, and the user is told.
func TestRemoteBack(t *testing.T) {
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			s := startServe(t, "--memory", "/a")
			r, stderr := newRemotes(t)
			url := s.url(scheme, "/a")
			m, _, err := r.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			s.stop()
			called := make(chan error, 1)
			over := make(chan struct{})
			go func() {
				called <- m.Client.Null(t.Context())
				close(over)
			}()
			from := strings.TrimSuffix(url, "/a")
			told := "rpcrdma: " + from + " does not respond; waiting for up to 1m0s: nothing listens at port "
			if got := stderr.await("\n", over); !strings.HasPrefix(got, told) || strings.Count(got, "\n") != 1 {
				t.Errorf("on standard error: %q, want %q", got, told)
			}
			startServe(t, "--memory", "/a", "--listen", s.rdma, "--mount", s.tcp)
			if err := <-called; err != nil {
				t.Errorf("the call that has waited: %v", err)
			}
			if got, want := stderr.String(), "\nrpcrdma: "+from+" is back\n"; !strings.HasSuffix(got, want) {
				t.Errorf("on standard error: %q, want %q in the end", got, want)
			}
			r.Close()
		})
	}
}

// TestRemoteGone: with --wait 0, calls fail at once, and say why.
func TestRemoteGone(t *testing.T) {
	s := startServe(t, "--memory", "/a")
	r, stderr := newRemotes(t, "--wait", "0")
	m, _, err := r.Open(t.Context(), s.url("rdma", "/a"))
	if err != nil {
		t.Fatal(err)
	}
	s.stop()
	for { // the first call may get the end of the connection
		err := m.Client.Null(t.Context())
		if err == nil {
			t.Fatal("a server that is gone has answered")
		}
		if errors.As(err, new(*words.ConnectError)) {
			if want := "nothing listens at port " + s.rdma; !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
			break
		}
	}
	if got := stderr.String(); got != "" {
		t.Errorf("on standard error: %q", got)
	}
}

// TestRemoteInterrupted: the end of the context ends the waiting.
func TestRemoteInterrupted(t *testing.T) {
	s := startServe(t, "--memory", "/a")
	r, stderr := newRemotes(t)
	m, _, err := r.Open(t.Context(), s.url("rdma", "/a"))
	if err != nil {
		t.Fatal(err)
	}
	s.stop()
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan error, 1)
	over := make(chan struct{})
	go func() {
		called <- m.Client.Null(ctx)
		close(over)
	}()
	stderr.await("does not respond", over)
	cancel()
	if err := <-called; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	// which tells a server that is gone, and does not wait for it for long
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
