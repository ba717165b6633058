package daemon

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// AtRPCBind reports whether an address is at the port of rpcbind.
func AtRPCBind(addr string) bool {
	_, name, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	port, err := net.LookupPort("tcp", name)
	return err == nil && port == rpcbind.Port
}

// CheckAddress finds what is wrong with the form of an address. What else could be written is for
// the message.
func CheckAddress(flag, addr, other string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%s %q: write HOST:PORT, or :PORT for all addresses of this host%s", flag, addr, other)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("%s %q: write a port from 0 to 65535", flag, addr)
	}
	return nil
}

// ListenError says what is in the way of listening on an address, and what to do about it.
func ListenError(flag, addr string, err error) error {
	if errors.Is(err, roce.ErrPortTaken) {
		return fmt.Errorf("%s %s: %w; %s. Or choose an address whose port is free with %[1]s, or leave roce "+
			"out of --provider", flag, addr, roce.ErrPortTaken, reach.PortTaken)
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("%s %s: %w", flag, addr, err)
	}
	var advice string
	switch {
	case errors.Is(errno, syscall.EADDRINUSE) && flag == "--rdma-rpcbind" && AtRPCBind(addr):
		advice = "; rpcbind has it, most likely: leave out --rdma-rpcbind; --rpcbind registers with it"
	case errors.Is(errno, syscall.EADDRINUSE):
		advice = "; another server? choose a port with " + flag
	case errors.Is(errno, syscall.EACCES):
		advice = "; ports below 1024 take privileges: choose another with " + flag
	case errors.Is(errno, syscall.EADDRNOTAVAIL) && flag == "--debug":
		advice = "; choose an address of this host"
	case errors.Is(errno, syscall.EADDRNOTAVAIL):
		advice = "; choose an address of this host with " + flag + ", or :PORT for all"
	}
	return fmt.Errorf("%s %s: %w%s", flag, addr, errno, advice)
}
