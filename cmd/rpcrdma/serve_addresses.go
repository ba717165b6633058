package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// checkAddresses finds what is wrong with --listen, --mount, --rdma-rpcbind,
// --metrics and --debug.
func (c *serveConfig) checkAddresses() error {
	if c.mount == "none" {
		c.mount = ""
	}
	if err := checkAddress("--listen", c.listen, ""); err != nil {
		return err
	}
	if c.mount != "" {
		if err := checkAddress("--mount", c.mount, "; or none"); err != nil {
			return err
		}
		if c.mount == c.listen && !strings.HasSuffix(c.mount, ":0") {
			return fmt.Errorf("--listen and --mount are both %s: RDMA and TCP need a port each", c.mount)
		}
	}
	return errors.Join(c.checkRDMARPCBind(), checkMetrics(c.metrics), checkDebug(c.debug))
}

func (c *serveConfig) checkRDMARPCBind() error {
	if c.rdmaRPCBind == "" {
		return nil
	}
	if err := checkAddress("--rdma-rpcbind", c.rdmaRPCBind, ""); err != nil {
		return err
	}
	if strings.HasSuffix(c.rdmaRPCBind, ":0") {
		return nil
	}
	if len(c.lookupProviders()) == 0 {
		return errors.New("--rdma-rpcbind is for --provider iwarp and roce")
	}
	if c.rpcbind && atRPCBind(c.rdmaRPCBind) {
		return fmt.Errorf("--rpcbind is for hosts with rpcbind, which has port %d: leave out --rdma-rpcbind, or --rpcbind where there is none", rpcbind.Port)
	}
	switch c.rdmaRPCBind {
	case c.listen:
		return fmt.Errorf("--rdma-rpcbind and --listen are both %s, which answers look-ups anyway: leave out --rdma-rpcbind", c.listen)
	case c.mount:
		return fmt.Errorf("--rdma-rpcbind and --mount are both %s: RDMA and TCP need a port each", c.mount)
	}
	return nil
}

// lookupProviders are those of --rdma-rpcbind: not that of SCTP, whose one UDP port is taken.
func (c *serveConfig) lookupProviders() []string {
	if c.rdmaRPCBind == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.providers), func(name string) bool { return name == "sctp" })
}

// atRPCBind reports whether an address is at the port of rpcbind.
func atRPCBind(addr string) bool {
	_, name, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	port, err := net.LookupPort("tcp", name)
	return err == nil && port == rpcbind.Port
}

// checkAddress finds what is wrong with the form of an address. What else could be written is for the message.
func checkAddress(flag, addr, other string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%s %q: write HOST:PORT, or :PORT for all addresses of this host%s", flag, addr, other)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("%s %q: write a port from 0 to 65535", flag, addr)
	}
	return nil
}
