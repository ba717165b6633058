package daemon

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// AllowFlag adds networks.
type AllowFlag []netip.Prefix

// hostName matches what looks like a host name.
var hostName = regexp.MustCompile(`^[0-9A-Za-z_.-]*[A-Za-z][0-9A-Za-z_.-]*$`)

// Set takes a network, or an address, which is a network of one.
func (f *AllowFlag) Set(s string) error {
	if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		*f = append(*f, netip.PrefixFrom(addr, addr.BitLen()))
		return nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return allowError(s)
	}
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	*f = append(*f, p.Masked())
	return nil
}

// allowError says what to write instead.
func allowError(s string) error {
	const form = "write a network, such as 192.168.1.0/24 or 2001:db8::/32, or an address"
	switch {
	case strings.Contains(s, ","):
		first, second, _ := strings.Cut(s, ",")
		return fmt.Errorf("write one at a time: --allow %s --allow %s",
			cli.Printable(strings.TrimSpace(first)), cli.Printable(strings.TrimSpace(second)))
	case hostName.MatchString(s):
		return errors.New("host names are not looked up: " + form)
	}
	return errors.New(form)
}

// Repeatable says that each use adds a network.
func (f *AllowFlag) Repeatable() {}

// String returns nothing: the default is everybody.
func (f *AllowFlag) String() string { return "" }

// Type names the value in the usage.
func (f *AllowFlag) Type() string { return "CIDR" }
