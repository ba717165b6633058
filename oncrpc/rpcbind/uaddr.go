package rpcbind

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// ErrAddr says that a string is not a universal address of IPv4 or IPv6.
var ErrAddr = errors.New("not a universal address")

// UniversalAddr returns the universal address of an IP address and a port (RFC 5665):
// "192.0.2.1.8.1" is port 2049 of 192.0.2.1, and "::.8.1" port 2049 of ::. An IPv4-mapped IPv6
// address counts as IPv4. A zone is left out.
func UniversalAddr(a netip.AddrPort) string {
	ip := a.Addr().Unmap().WithZone("")
	return fmt.Sprintf("%v.%d.%d", ip, a.Port()>>8, a.Port()&0xff)
}

// ParseUniversalAddr parses a universal address. The error wraps ErrAddr.
func ParseUniversalAddr(s string) (netip.AddrPort, error) {
	bad := func() (netip.AddrPort, error) {
		return netip.AddrPort{}, fmt.Errorf("%w: %.100q", ErrAddr, s)
	}
	rest, low, ok := cutLast(s)
	if !ok {
		return bad()
	}
	host, high, ok := cutLast(rest)
	if !ok {
		return bad()
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Zone() != "" {
		return bad()
	}
	h, ok1 := octet(high)
	l, ok2 := octet(low)
	if !ok1 || !ok2 {
		return bad()
	}
	return netip.AddrPortFrom(ip, h<<8|l), nil
}

// cutLast cuts s at its last dot.
func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

// octet parses a decimal number up to 255, without a sign or leading zeros.
func octet(s string) (uint16, bool) {
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil || strconv.FormatUint(n, 10) != s {
		return 0, false
	}
	return uint16(n), true
}
