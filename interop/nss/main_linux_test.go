//go:build interop

package nss

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// inside is the variable of the environment that says that this is the process in the namespace.
const inside = "RPCRDMA_NSS_TEST"

func TestMain(m *testing.M) {
	code, err := 0, error(nil)
	if os.Getenv(inside) == "" {
		code, err = unshare()
	} else if err = furnish(); err == nil {
		code = m.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// unshare runs the tests in a process with a mount namespace of its own.
func unshare() (code int, err error) {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err = cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// directory is where the module has its users.
const directory = "/var/lib/extrausers"

// furnish makes the module the second source of users and groups, after the host's files. It knows
// the user eva, with the group 70002, who is also a member of the group folk, 70003.
func furnish() error {
	err := syscall.Mount("nss", directory, "tmpfs", 0, "mode=755")
	if err != nil {
		return fmt.Errorf("mounting at %s: %w: install libnss-extrausers", directory, err)
	}
	for name, text := range map[string]string{
		"passwd":        "eva:x:70001:70002:Eva:/:/bin/sh\n",
		"group":         "eva:x:70002:\nfolk:x:70003:eva\n",
		"nsswitch.conf": "passwd: files extrausers\ngroup: files extrausers\n",
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	const conf = "/etc/nsswitch.conf"
	err = syscall.Mount(filepath.Join(directory, "nsswitch.conf"), conf, "", syscall.MS_BIND, "")
	if err != nil {
		return fmt.Errorf("mounting at %s: %w", conf, err)
	}
	return nil
}
