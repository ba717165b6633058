//go:build interop

package linux

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// commandEnv is the environment variable with the path of the command, for tests in a network
// namespace of their own.
const commandEnv = "RPCRDMA_TEST_COMMAND"

// runInNamespace runs the tests in a network namespace of their own, where they may make devices,
// and where RoCE's port is free. It returns their exit code.
func runInNamespace() int {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), commandEnv+"="+command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, "cannot make a network namespace, which takes root:", err)
		return 1
	}
	return 0
}

// runTests runs the tests, in that namespace.
func runTests(m *testing.M) int {
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot set up the network namespace (apt-get install iproute2): %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
