//go:build interop

package linux

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// schemes are the ways to reach a server.
var schemes = []string{"rdma", "tcp"}

// outcome is a command's output and how it ended.
type outcome struct {
	stdout, stderr string
	code           int
}

// running is a running rpcrdma command.
type running struct {
	cmd    *exec.Cmd
	stdout strings.Builder

	mu     sync.Mutex // guards stderr
	stderr strings.Builder
	more   chan struct{} // closed, and replaced, when there is more of it
}

// startCommand starts a command, with a umask of 022.
func startCommand(t *testing.T, stdin []byte, args ...string) *running {
	t.Helper()
	r := &running{cmd: exec.CommandContext(t.Context(), "sh", append([]string{"-c", `umask 022; exec "$@"`, "sh", command}, args...)...)}
	r.more = make(chan struct{})
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = bytes.NewReader(stdin), &r.stdout, r
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// Write records the command's standard error.
func (r *running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.more)
	r.more = make(chan struct{})
	return r.stderr.Write(p)
}

// said returns the standard error so far, and a channel that is closed when there is more.
func (r *running) said() (string, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stderr.String(), r.more
}

// await waits for words on standard error.
func (r *running) await(t *testing.T, words string) {
	t.Helper()
	timeout := time.After(silence)
	for {
		said, more := r.said()
		if strings.Contains(said, words) {
			return
		}
		select {
		case <-more:
		case <-timeout:
			t.Fatalf("%q does not say %q:\n%s", r.cmd.Args, words, said)
		}
	}
}

// wait waits until the command ends.
func (r *running) wait(t *testing.T) outcome {
	t.Helper()
	var exit *exec.ExitError
	if err := r.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%q: %v", r.cmd.Args, err)
	}
	said, _ := r.said()
	return outcome{r.stdout.String(), said, r.cmd.ProcessState.ExitCode()}
}

// do runs a command, which must succeed without messages, and returns its output.
func (k *knfsd) do(t *testing.T, args ...string) string {
	t.Helper()
	return k.feed(t, nil, args...)
}

// feed is do with standard input.
func (k *knfsd) feed(t *testing.T, stdin []byte, args ...string) string {
	t.Helper()
	if slices.Contains([]string{"get", "put", "cp"}, args[0]) {
		args = append(args[:1:1], append([]string{"-q"}, args[1:]...)...)
	}
	got := startCommand(t, stdin, args...).wait(t)
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("rpcrdma %q: exit %d\n%s", args, got.code, got.stderr)
	}
	return got.stdout
}

// refused runs a command that must fail with exit code 1 and a message with these words.
func (k *knfsd) refused(t *testing.T, words string, args ...string) {
	t.Helper()
	got := startCommand(t, nil, args...).wait(t)
	if got.code != 1 || !strings.Contains(got.stderr, words) {
		t.Errorf("rpcrdma %q: exit %d, want 1 and %q\n%s", args, got.code, words, got.stderr)
	}
}

// guestSays checks the output of a script in the guest.
func (k *knfsd) guestSays(t *testing.T, want, script string) {
	t.Helper()
	if got := k.sh[0].run(t, script); got != want {
		t.Errorf("the guest's %s: got %q, want %q", script, got, want)
	}
}

// commands runs each command, and checks its effect in the guest.
func (k *knfsd) commands(t *testing.T) {
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			dir := open + "/commands-" + scheme
			url := func(name string) string { return k.url(scheme, dir+name) }
			says := func(want, script string) {
				t.Helper()
				k.guestSays(t, want, "cd "+dir+" && "+script)
			}
			k.do(t, "mkdir", "-p", url("/a/b"))
			says("directory 755", "stat -c '%F %a' a/b")
			k.feed(t, []byte("hello\n"), "put", "-", url("/a/file"))
			says("hello", "cat a/file")
			says("regular file 644 6", "stat -c '%F %a %s' a/file")
			if got := k.do(t, "cat", url("/a/file")); got != "hello\n" {
				t.Errorf("cat: %q", got)
			}
			k.do(t, "touch", "-d", "@1234567890.123456789", url("/a/file"))
			says("2009-02-13 23:31:30.123456789 +0000", "stat -c %y a/file")
			k.do(t, "touch", url("/a/new"))
			says("0", "stat -c %s a/new")
			k.do(t, "chmod", "u=rwxs,g-r,o+w", url("/a/file"))
			says("4706", "stat -c %a a/file")
			k.do(t, "chmod", "0640", url("/a/file"))
			says("640", "stat -c %a a/file")
			k.do(t, "chown", "1234:5678", url("/a/file"))
			says("1234:5678", "stat -c %u:%g a/file")
			k.do(t, "ln", url("/a/file"), url("/a/hard"))
			says("2", "stat -c %h a/file")
			k.do(t, "ln", "-s", "../a/file", url("/a/soft"))
			says("../a/file", "readlink a/soft")
			if got := k.do(t, "readlink", url("/a/soft")); got != "../a/file\n" {
				t.Errorf("readlink: %q", got)
			}
			if got := k.do(t, "cat", url("/a/soft")); got != "hello\n" {
				t.Errorf("cat of a link: %q", got)
			}
			if got, want := k.do(t, "ls", url("/a")), "b\nfile\nhard\nnew\nsoft\n"; got != want {
				t.Errorf("ls: %q, want %q", got, want)
			}
			got := k.do(t, "ls", "-n", url("/a"))
			for _, want := range []string{"drwxr-xr-x ", "-rw-r----- 2 1234 5678 6 ", " soft -> ../a/file\n"} {
				if !strings.Contains(strings.Join(strings.Fields(got), " ")+"\n", strings.TrimSpace(want)) {
					t.Errorf("ls -l: no %q in\n%s", want, got)
				}
			}
			if got := k.do(t, "stat", url("/a/file")); !strings.Contains(got, "0640") || !strings.Contains(got, "1234") {
				t.Errorf("stat:\n%s", got)
			}
			k.do(t, "mv", url("/a/file"), url("/a/b/moved"))
			says("b/moved hard", "cd a && echo $(ls -d file b/moved hard 2>/dev/null)")
			total := k.sh[0].run(t, "df -k /export | tail -n 1 | { read -r name total rest; echo $total; }")
			if got := k.do(t, "df", url("/")); !strings.Contains(got, total) {
				t.Errorf("df: no %s in\n%s", total, got)
			}
			to := t.TempDir()
			k.do(t, "get", url("/a/b/moved"), to+"/got")
			checkFile(t, to+"/got", []byte("hello\n"))
			k.do(t, "rm", url("/a/hard"))
			says("gone", "[ -e a/hard ] || echo gone")
			k.do(t, "rm", "-r", url("/a"))
			says("", "ls -A")
			k.refused(t, "no such file", "cat", url("/a/file"))
			k.refused(t, "is a directory", "rm", url(""))
		})
	}
}

// largeDirectory lists and removes a directory of 10,000 entries that the guest has made.
func (k *knfsd) largeDirectory(t *testing.T) {
	const entries = 10_000
	var want strings.Builder
	for i := range entries {
		fmt.Fprintf(&want, "entry-%d\n", entries+i)
	}
	k.sh[0].run(t, fmt.Sprintf("mkdir /export/many && cd /export/many && i=%[1]d; while [ $i -lt $((2 * %[1]d)) ]; do : >entry-$i; i=$((i + 1)); done", entries))
	for _, scheme := range schemes {
		if got := k.do(t, "ls", k.url(scheme, open+"/many")); got != want.String() {
			t.Errorf("%s: ls prints %d lines, want those of %d entries", scheme, strings.Count(got, "\n"), entries)
		}
	}
	if got := strings.Count(k.do(t, "ls", "-l", k.url("rdma", open+"/many")), "-rw-r--r--"); got != entries {
		t.Errorf("ls -l: %d files, want %d", got, entries)
	}
	k.do(t, "rm", "-r", k.url("rdma", open+"/many"))
	k.guestSays(t, "gone", "[ -e /export/many ] || echo gone")
}
