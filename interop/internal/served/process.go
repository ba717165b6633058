package served

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// startLimit is how long a process may take to come up, and to go away.
const startLimit = 30 * time.Second

// process is the command, doing something that it goes on with until it is ended.
type process struct {
	t    *testing.T
	what string // it is, in messages
	log  string // the file for its standard error
	cmd  *exec.Cmd
}

// newProcess returns one that ends with the test, at the latest. If that fails what it has logged
// is shown.
func newProcess(t *testing.T, what string) *process {
	p := &process{t: t, what: what, log: filepath.Join(t.TempDir(), "log")}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			log := p.Log()
			t.Logf("messages of the %s:\n%s", what, log[max(0, len(log)-10_000):])
		}
	})
	return p
}

// start starts it, and hands over what it prints, line by line, until greeted reports that it is
// up.
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
	// One that hangs is ended, which ends its output.
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

// PID is the number of the process.
func (p *process) PID() int { return p.cmd.Process.Pid }

// Log returns what it has logged so far.
func (p *process) Log() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Kill ends it as a crash would, if it has not ended.
func (p *process) Kill() {
	if p.cmd != nil && p.cmd.Process != nil && p.cmd.ProcessState == nil {
		p.kill()
		_ = p.cmd.Wait() // that it was killed
	}
}

// kill signals a process that may have ended meanwhile.
func (p *process) kill() { _ = p.cmd.Process.Kill() }

// Stop has it end in order, and returns the processor time that it took since it was started.
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
