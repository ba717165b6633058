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

// isolatedVariable is the environment variable that tells a process that it has namespaces of its
// own.
const isolatedVariable = "COMPARE_ISOLATED"

// scratch is where servers of others have their files: an empty tmpfs.
const scratch = "/run"

// isolate runs this command again in namespaces of its own, if it may: of the network, so that the
// congestion control and the port mapper are nobody else's; of mounts, so that there is an empty
// /run; and of processes, so that none is left. It returns how that has ended, or false.
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
	// Who interrupts from the terminal interrupts both.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, os.Interrupt)
	defer signal.Stop(ignored)
	if err := cmd.Start(); err != nil {
		return false, 0 // in a container, say
	}
	_ = cmd.Wait() // what there is to say has been said
	return true, cmd.ProcessState.ExitCode()
}

// isolated says that this process is not isolated.
func isolated() error {
	if os.Getenv(isolatedVariable) == "" {
		return errors.New("it takes root, and the right to make namespaces")
	}
	return nil
}

// prepare makes the namespaces usable, and starts the port mapper. The end is up to undo. Outside
// of namespaces it does nothing.
func prepare(congestion string) (undo func() error, err error) {
	undo = func() error { return nil }
	if isolated() != nil {
		return undo, nil
	}
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
	}{
		{"", "/", "", unix.MS_REC | unix.MS_PRIVATE}, // what follows is to stay here
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
