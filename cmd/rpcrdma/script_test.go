package main

import (
	"strings"
	"testing"
	"time"
)

// step is a command line of a script, and its expected outcome.
type step struct {
	args   string // with spaces between them; @/ as in rig.exec
	stdout string
	stderr string // without "rpcrdma " in front of each line
	code   int
}

// runScript runs command lines one after another, over each transport, against a server with an
// empty /memory. They call as root by default. In outputs, TIME stands for 2006-01-02T15:04:05Z as
// ls prints it here.
func runScript(t *testing.T, steps []step) {
	t.Helper()
	at := time.Unix(1136214245, 0).Format("2006-01-02 15:04:05")
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			r := startRig(t)
			for i, s := range steps {
				args := strings.Fields(s.args)
				got := r.exec(t, scheme, append([]string{args[0], "--uid=0", "--gid=0"}, args[1:]...)...)
				stderr := strings.ReplaceAll("\n"+got.stderr, "\nrpcrdma ", "\n")[1:]
				if want := strings.ReplaceAll(s.stdout, "TIME", at); got.stdout != want || stderr != s.stderr || got.code != s.code {
					t.Fatalf("step %d: %s\nexit %d, want %d\nstdout\n%swant\n%sstderr\n%swant\n%s", i, s.args, got.code, s.code, got.stdout, want, stderr, s.stderr)
				}
			}
		})
	}
}
