//go:build interop

package linux

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// inNamespace is set in the environment of tests that are in a network namespace of their own.
const inNamespace = "RPCRDMA_TEST_NAMESPACE"

// enterNamespace has the tests run in a network namespace of their own, where they may make devices
// and where nobody else has the port of RoCE. It returns the exit code, if it was not there already.
func enterNamespace() (code int, entered bool) {
	if os.Getenv(inNamespace) != "" {
		if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "cannot set up the network namespace (apt-get install iproute2): %v\n%s", err, out)
			return 1, true
		}
		return 0, false
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode(), true
	case err != nil:
		fmt.Fprintln(os.Stderr, "cannot make a network namespace, which takes root:", err)
		return 1, true
	}
	return 0, true
}
