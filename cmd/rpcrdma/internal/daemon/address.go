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

// CheckAddress checks the form of an address. other is added to the message: what else may be
// written.
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

// ListenError says why listening on an address failed, and what to do about it.
func ListenError(flag, addr string, err error) error {
	if errors.Is(err, roce.ErrPortTaken) {
		return fmt.Errorf("%s %s: %w; %s. Or choose another address with %[1]s, or leave roce "+
			"out of --provider", flag, addr, roce.ErrPortTaken, reach.PortTaken)
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("%s %s: %w", flag, addr, err)
	}
	var advice string
	switch {
	case errors.Is(errno, syscall.EADDRINUSE) && flag == "--rdma-rpcbind" && AtRPCBind(addr):
		advice = "; rpcbind probably has it: leave out --rdma-rpcbind, and use --rpcbind to register with it"
	case errors.Is(errno, syscall.EADDRINUSE):
		advice = "; another server may have it: choose another port with " + flag
	case errors.Is(errno, syscall.EACCES):
		advice = "; ports below 1024 need privileges: choose another port with " + flag
	case errors.Is(errno, syscall.EADDRNOTAVAIL) && flag == "--debug":
		advice = "; choose an address of this host"
	case errors.Is(errno, syscall.EADDRNOTAVAIL):
		advice = "; choose an address of this host with " + flag + ", or :PORT for all"
	}
	return fmt.Errorf("%s %s: %w%s", flag, addr, errno, advice)
}
