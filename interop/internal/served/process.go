package served

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/evidence"
)

// startLimit is how long a process may take to start or stop.
const startLimit = 30 * time.Second

// process is a running command.
type process struct {
	t    *testing.T
	what string // its name in messages
	log  string // the file for its standard error
	cmd  *exec.Cmd
}

// newProcess returns a process that ends with the test at the latest. If the test fails, its log is
// shown.
func newProcess(t *testing.T, what string) *process {
	p := &process{t: t, what: what, log: filepath.Join(evidence.Dir(t), "log")}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			log := p.Log()
			t.Logf("messages of the %s:\n%s", what, log[max(0, len(log)-10_000):])
		}
	})
	return p
}

// start starts the command and passes each line that it prints to greeted, until greeted reports
// that the command is up.
func (p *process) start(greeted func(line string) bool, args ...string) {
	p.t.Helper()
	p.cmd = exec.Command(args[0], args[1:]...)
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	p.cmd.Stderr = log
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	// Killing a process that hangs ends its output.
	timeout := time.AfterFunc(startLimit, p.kill)
	defer timeout.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if greeted(lines.Text()) {
			return
		}
	}
	p.Kill()
	p.t.Fatalf("the %s did not come up:\n%s", p.what, p.Log())
}

// PID returns the process ID.
func (p *process) PID() int { return p.cmd.Process.Pid }

// Log returns what it has logged so far.
func (p *process) Log() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Kill kills the process, as a crash would, if it has not ended.
func (p *process) Kill() {
	if p.cmd != nil && p.cmd.Process != nil && p.cmd.ProcessState == nil {
		p.kill()
		_ = p.cmd.Wait() // the error says that it was killed
	}
}

// kill kills a process that may have ended.
func (p *process) kill() { _ = p.cmd.Process.Kill() }

// Stop stops the process in order, and returns the CPU time that it has used.
func (p *process) Stop() time.Duration {
	p.t.Helper()
	timeout := time.AfterFunc(startLimit, p.kill)
	defer timeout.Stop()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the %s ended with: %v", p.what, err)
	}
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}
