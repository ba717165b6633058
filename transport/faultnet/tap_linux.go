package faultnet

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Tap is a virtual Ethernet device of Linux. Read returns a frame that the kernel sends, and Write
// gives the kernel a frame to receive.
type Tap struct{ *os.File }

// OpenTap makes a device with an IPv4 address, in the network namespace of the calling thread (see
// Namespace.Do). Closing it removes the device. OpenTap needs /dev/net/tun and the capability
// CAP_NET_ADMIN.
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
	// Only now, with the device set up, can the runtime wait for its frames.
	return &Tap{os.NewFile(uintptr(fd), name)}, nil
}

// setUp makes a device of the open file.
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

// Namespace is a network namespace of Linux. To the network it is a host of its own.
type Namespace struct {
	work chan func()
	over chan struct{}
}

// NewNamespace makes a network namespace. It needs the capability CAP_SYS_ADMIN.
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

// Do runs f in the namespace, and waits for it. Sockets, listeners and Taps that f opens on its own
// goroutine belong to the namespace for good.
func (n *Namespace) Do(f func()) {
	done := make(chan struct{})
	n.work <- func() {
		defer close(done)
		f()
	}
	<-done
}

// Close gives the namespace up. The kernel removes it when everything opened in it is closed. Do
// must not be called any more.
func (n *Namespace) Close() {
	close(n.work)
	<-n.over
}
