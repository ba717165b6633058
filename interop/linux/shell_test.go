//go:build interop

package linux

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// shell is a shell in a guest, at the other end of its own TCP connection. It runs one script at a
// time.
type shell struct {
	g     *guest
	name  string
	conn  net.Conn
	lines *bufio.Scanner
	n     int  // scripts so far
	hangs bool // the last of them
}

// shellsScript connects shells to this machine.
const shellsScript = `
for i in $(seq %d); do nc 192.0.2.2 %d -e sh & done
wait
`

// bootShells boots a guest with n shells and no script. One more shell is for finding out why
// another one hangs.
func bootShells(t *testing.T, m machine, n int) (*guest, []*shell) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	m.Script = fmt.Sprintf(shellsScript, n+1, port(l.Addr()))
	g := boot(t, m)
	l.(*net.TCPListener).SetDeadline(time.Now().Add(silence))
	var shells []*shell
	for i := range n + 1 {
		conn, err := l.Accept()
		if err != nil {
			t.Fatalf("a shell of the guest: %v", err)
		}
		t.Cleanup(func() { conn.Close() })
		shells = append(shells, &shell{g: g, name: fmt.Sprintf("shell-%d", i), conn: conn, lines: bufio.NewScanner(conn)})
	}
	g.spare = shells[n]
	return g, shells[:n]
}

// closeShells ends the shells, and with them the guest.
func (g *guest) closeShells(shells []*shell) {
	for _, s := range append(shells, g.spare) {
		s.conn.Close()
	}
}

// hangScript shows what the kernel and its NFS clients wait for.
const hangScript = `
mount -t debugfs debugfs /sys/kernel/debug
echo w >/proc/sysrq-trigger
dmesg | tail -n 100
grep -A 30 'fstype nfs ' /proc/self/mountstats | grep -E 'device|xprt'
cat /sys/kernel/debug/sunrpc/rpc_clnt/*/tasks
`

// start starts a script. await and finish read its output.
func (s *shell) start(t *testing.T, script string) {
	t.Helper()
	if s.hangs {
		t.Fatal("the guest's shell hangs since an earlier script")
	}
	s.n++
	name := fmt.Sprintf("%s-%d", s.name, s.n)
	s.g.put(name, []byte(script))
	if _, err := fmt.Fprintf(s.conn, "dash /host/%s </dev/null 2>&1; code=$?; echo; echo EXIT-%s $code\n", name, name); err != nil {
		t.Fatal(err)
	}
}

// silence is how long a script may print nothing.
const silence = 3 * time.Minute

// next returns the next line that the script prints, and false with how it ended.
func (s *shell) next(t *testing.T) (line string, more bool) {
	t.Helper()
	limit := silence
	if *full {
		limit *= 5
	}
	s.conn.SetReadDeadline(time.Now().Add(limit))
	if !s.lines.Scan() {
		s.hangs = true
		if s != s.g.spare {
			t.Logf("meanwhile:\n%s", s.g.spare.run(t, hangScript))
		}
		t.Fatalf("the guest's %s ended, or was silent for %v: %v", s.name, limit, s.lines.Err())
	}
	line = s.lines.Text()
	if rest, ok := strings.CutPrefix(line, fmt.Sprintf("EXIT-%s-%d ", s.name, s.n)); ok {
		return rest, false
	}
	return line, true
}

// await waits for a line that begins with prefix, and returns the rest of it.
func (s *shell) await(t *testing.T, prefix string) string {
	t.Helper()
	for {
		line, more := s.next(t)
		if !more {
			t.Fatalf("the script ended with %s and did not print %q", line, prefix)
		}
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return rest
		}
		t.Log(line)
	}
}

// finish waits for the end of the script, which must be success, and returns what else it printed.
func (s *shell) finish(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for {
		line, more := s.next(t)
		if !more {
			if line != "0" {
				t.Fatalf("the script ended with %s:\n%s", line, out.String())
			}
			return strings.TrimSpace(out.String())
		}
		fmt.Fprintln(&out, line)
	}
}

// run runs a script that must succeed, and returns its output.
func (s *shell) run(t *testing.T, script string) string {
	t.Helper()
	s.start(t, script)
	return s.finish(t)
}
