package faultnet

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Tap is a virtual Ethernet device of Linux. Read returns a frame that the kernel sends by it, and
// Write has it receive one.
type Tap struct{ *os.File }

// OpenTap makes a device in the network namespace of the thread that calls it (see Namespace.Do),
// with an IPv4 address, and sets it up. The device ends when it is closed. That takes
// /dev/net/tun, and the capability CAP_NET_ADMIN.
func OpenTap(name string, addr netip.Prefix) (*Tap, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/dev/net/tun", Err: err}
	}
	if err := setUp(fd, name, addr); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("tap %s: %w", name, err)
	}
	// The device exists now, so that the runtime can wait for its frames.
	return &Tap{os.NewFile(uintptr(fd), name)}, nil
}

// setUp makes the device of an open file.
func setUp(fd int, name string, addr netip.Prefix) error {
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
		return os.NewSyscallError("TUNSETIFF", err)
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(s)
	mask := ^uint32(0) << (32 - addr.Bits())
	for _, set := range []struct {
		name    string
		request uint
		addr    []byte
	}{
		{"SIOCSIFADDR", unix.SIOCSIFADDR, addr.Addr().AsSlice()},
		{"SIOCSIFNETMASK", unix.SIOCSIFNETMASK,
			[]byte{byte(mask >> 24), byte(mask >> 16), byte(mask >> 8), byte(mask)}},
	} {
		if err := ifr.SetInet4Addr(set.addr); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(s, set.request, ifr); err != nil {
			return os.NewSyscallError(set.name, err)
		}
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return os.NewSyscallError("SIOCSIFFLAGS", unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, ifr))
}

// Namespace is a network namespace of Linux: a host of its own, as far as the network goes.
type Namespace struct {
	work chan func()
	over chan struct{}
}

// NewNamespace makes a network namespace. That takes the capability CAP_SYS_ADMIN.
func NewNamespace() (*Namespace, error) {
	n := &Namespace{work: make(chan func()), over: make(chan struct{})}
	made := make(chan error)
	go func() {
		defer close(n.over)
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := os.NewSyscallError("unshare", unix.Unshare(unix.CLONE_NEWNET))
		made <- err
		if err != nil {
			return
		}
		for f := range n.work {
			f()
		}
	}()
	if err := <-made; err != nil {
		return nil, err
	}
	return n, nil
}

// Do runs f in the namespace, and waits for it. What f opens itself, and not on another goroutine,
// is of the namespace for good: sockets, listeners and Taps.
func (n *Namespace) Do(f func()) {
	done := make(chan struct{})
	n.work <- func() {
		defer close(done)
		f()
	}
	<-done
}

// Close lets go of the namespace. It ends when nothing that was opened in it is left. Do must not
// be called any more.
func (n *Namespace) Close() {
	close(n.work)
	<-n.over
}
