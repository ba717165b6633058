//go:build !linux

package roce

import (
	"context"
	"errors"
	"net/netip"
)

// openSocket fails. The ICRC covers the identifications of datagrams, and how other systems choose
// those is not known.
func openSocket(netip.Addr) (socket, int, error) { return nil, 0, errors.ErrUnsupported }

func route(netip.Addr) (netip.Addr, int, error) { return netip.Addr{}, 0, errors.ErrUnsupported }

func portClosed(context.Context, netip.Addr, netip.Addr) bool { return false }

func localAddrs() ([]netip.Addr, error) { return nil, errors.ErrUnsupported }
