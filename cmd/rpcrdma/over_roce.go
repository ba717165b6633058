package main

import (
	"context"
	"errors"
	"net/netip"
	"os"

	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// portTaken says what to do about the UDP port of RoCE that somebody else has.
const portTaken = "'rdma link' shows whether it is the kernel's rdma_rxe ('rdma link delete' ends " +
	"that), 'ss -ulnp' a process"

// listenInside listens over RoCE at an address of the loopback interface, for this process alone.
// Another process may have the UDP port at 127.0.0.1, and at some others.
func listenInside(ctx context.Context) (l *roce.Listener, err error) {
	for try := range byte(16) {
		at := netip.AddrPortFrom(inside(os.Getpid(), try), 0)
		if l, err = roce.Listen(ctx, at.String(), roce.Config{}); !errors.Is(err, roce.ErrPortTaken) {
			break
		}
	}
	return l, err
}

// inside is an address that a process tries.
func inside(pid int, try byte) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(pid >> 8), byte(pid), 1 + try})
}
