package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolatedVariable is set in the environment of a process in namespaces of its own.
const isolatedVariable = "COMPARE_ISOLATED"

// scratch is an empty tmpfs for the files of other projects' servers.
const scratch = "/run"

// isolate runs this command again in namespaces of its own, if it may. The network namespace has
// its own congestion control and port mapper, the mount namespace an empty /run, and the process
// namespace leaves no processes behind. isolate returns the exit code, or false if it may not.
func isolate(ctx context.Context) (done bool, code int) {
	if os.Geteuid() != 0 || isolated() == nil {
		return false, 0
	}
	self, err := os.Executable()
	if err != nil {
		return false, 0
	}
	cmd := exec.CommandContext(ctx, self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), isolatedVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	// An interrupt from the terminal goes to both processes.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, os.Interrupt)
	defer signal.Stop(ignored)
	if err := cmd.Start(); err != nil {
		return false, 0 // for example in a container
	}
	_ = cmd.Wait() // the command has printed its errors
	return true, cmd.ProcessState.ExitCode()
}

// isolated returns an error: this process is not isolated.
func isolated() error {
	if os.Getenv(isolatedVariable) == "" {
		return errors.New("it takes root, and the right to make namespaces")
	}
	return nil
}

// prepare sets up the namespaces and starts the port mapper. The caller must call undo. Outside of
// namespaces it does nothing.
func prepare(congestion string) (undo func() error, err error) {
	undo = func() error { return nil }
	if isolated() != nil {
		return undo, nil
	}
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
	}{
		{"", "/", "", unix.MS_REC | unix.MS_PRIVATE}, // keep the following mounts private
		{"proc", "/proc", "proc", 0},
		{"tmpfs", scratch, "tmpfs", 0},
	} {
		if err := unix.Mount(m.source, m.target, m.kind, m.flags, ""); err != nil {
			return undo, fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	if err := loopbackUp(); err != nil {
		return undo, fmt.Errorf("loopback interface: %w", err)
	}
	if congestion != "" {
		if err := os.WriteFile("/proc/sys/net/ipv4/tcp_congestion_control", []byte(congestion), 0); err != nil {
			return undo, err
		}
	}
	if missingGanesha("") != nil {
		return undo, nil
	}
	mapper, err := startDaemon("127.0.0.1:111", "rpcbind", "-w", "-f")
	if err != nil {
		return undo, err
	}
	return mapper.stop, nil
}

// loopbackUp brings the loopback interface up.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}
