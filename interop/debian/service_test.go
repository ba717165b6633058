//go:build interop

package debian

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for something to happen.
const patience = time.Minute

// unit is the section Service of an installed unit: the values by key.
type unit map[string][]string

func readUnit(t *testing.T, name string) unit {
	t.Helper()
	b, err := os.ReadFile("/usr/lib/systemd/system/" + name + ".service")
	if err != nil {
		t.Fatal(err)
	}
	u, section := make(unit), ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "["):
			section = line
		case section == "[Service]" && ok && !strings.HasPrefix(line, "#"):
			u[key] = append(u[key], value)
		}
	}
	return u
}

// words returns the values of a key as words.
func (u unit) words(key string) []string { return strings.Fields(strings.Join(u[key], " ")) }

// environment returns the variables of the environment file, whose lines have the form
// NAME="VALUE".
func (u unit) environment(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(strings.TrimPrefix(u["EnvironmentFile"][0], "-"))
	if err != nil {
		t.Fatal(err)
	}
	env := make(map[string]string)
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok &&
			!strings.HasPrefix(name, "#") {
			env[name] = strings.Trim(value, `"`)
		}
	}
	return env
}

// command returns a command of the unit with its variables replaced.
func (u unit) command(key string, env map[string]string) []string {
	var args []string
	for _, word := range u.words(key) {
		if name, ok := strings.CutPrefix(word, "$"); ok {
			args = append(args, strings.Fields(env[name])...)
		} else {
			args = append(args, word)
		}
	}
	return args
}

// privileges returns the options with which setpriv(1) leaves a process the unit's privileges.
func (u unit) privileges() []string {
	set := func(key string) string {
		list := []string{"-all"}
		for _, c := range u.words(key) {
			list = append(list, "+"+strings.ToLower(strings.TrimPrefix(c, "CAP_")))
		}
		return strings.Join(list, ",")
	}
	args := []string{"--no-new-privs", "--bounding-set", set("CapabilityBoundingSet")}
	if user := u["User"]; user != nil {
		args = append(args, "--reuid", user[0], "--regid", u["Group"][0], "--clear-groups")
	}
	ambient := set("AmbientCapabilities")
	return append(args, "--inh-caps", ambient, "--ambient-caps", ambient)
}

// service is a running unit, without the sandbox of namespaces and system calls.
type service struct {
	t      *testing.T
	unit   unit
	cmd    *exec.Cmd
	log    bytes.Buffer // for after its end
	status *net.UnixConn
}

// start starts the unit, and returns when it is ready. It ends with the test at the latest.
func start(t *testing.T, name string) *service {
	t.Helper()
	s := &service{t: t, unit: readUnit(t, name)}
	if kind := s.unit.words("Type"); !slices.Equal(kind, []string{"notify"}) {
		t.Fatalf("%s is of type %v", name, kind)
	}
	for _, dir := range s.unit.words("StateDirectory") {
		if err := os.MkdirAll(filepath.Join("/var/lib", dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(t.TempDir(), "notify")
	var err error
	s.status, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.status.Close() })
	for path := socket; path != os.TempDir(); path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o777); err != nil { // the gateway is not root
			t.Fatal(err)
		}
	}
	env := s.unit.environment(t)
	args := slices.Concat([]string{"-c", `umask "$1" && shift && exec setpriv "$@"`, "sh",
		s.unit["UMask"][0]}, s.unit.privileges(), s.unit.command("ExecStart", env))
	s.cmd = exec.Command("sh", args...)
	s.cmd.Env = []string{"NOTIFY_SOCKET=" + socket, "PATH=/usr/bin:/bin"}
	for name, value := range env {
		s.cmd.Env = append(s.cmd.Env, name+"="+value)
	}
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.end()
		if t.Failed() {
			t.Logf("messages of %s:\n%s", name, &s.log)
		}
	})
	s.learns("READY=1")
	return s
}

// end kills it, as a crash would, if it has not ended.
func (s *service) end() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill() // it may have ended meanwhile
		_ = s.cmd.Wait()         // that it was killed
	}
}

// learns fails the test unless the next message to systemd is want.
func (s *service) learns(want string) {
	s.t.Helper()
	if err := s.status.SetReadDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	var b [4096]byte
	n, err := s.status.Read(b[:])
	if err != nil || string(b[:n]) != want {
		s.t.Fatalf("told %q, %v; want %q", b[:n], err, want)
	}
}

// reload reloads it as the unit says.
func (s *service) reload() {
	s.t.Helper()
	args := s.unit.command("ExecReload", map[string]string{
		"MAINPID": strconv.Itoa(s.cmd.Process.Pid),
	})
	run(s.t, args...)
	s.learns("RELOADING=1")
	s.learns("READY=1")
}

// stop stops it in order.
func (s *service) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	s.learns("STOPPING=1")
	timeout := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer timeout.Stop()
	if err := s.cmd.Wait(); err != nil {
		s.t.Fatalf("it ended with: %v\n%s", err, &s.log)
	}
}

// run runs a command and returns its output.
func run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}
