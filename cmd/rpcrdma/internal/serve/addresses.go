package serve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// checkAddresses finds what is wrong with --listen, --mount, --rdma-rpcbind,
// --metrics and --debug.
func (c *Config) checkAddresses() error {
	if c.Mount == "none" {
		c.Mount = ""
	}
	if err := daemon.CheckAddress("--listen", c.Listen, ""); err != nil {
		return err
	}
	if c.Mount != "" {
		if err := daemon.CheckAddress("--mount", c.Mount, "; or none"); err != nil {
			return err
		}
		if c.Mount == c.Listen && !strings.HasSuffix(c.Mount, ":0") {
			return fmt.Errorf("--listen and --mount are both %s: RDMA and TCP need a port each", c.Mount)
		}
	}
	return errors.Join(c.checkRDMARPCBind(), daemon.CheckMetrics(c.metrics), daemon.CheckDebug(c.debug))
}

func (c *Config) checkRDMARPCBind() error {
	if c.rdmaRPCBind == "" {
		return nil
	}
	if err := daemon.CheckAddress("--rdma-rpcbind", c.rdmaRPCBind, ""); err != nil {
		return err
	}
	if strings.HasSuffix(c.rdmaRPCBind, ":0") {
		return nil
	}
	if len(c.lookupProviders()) == 0 {
		return errors.New("--rdma-rpcbind needs --provider iwarp or roce")
	}
	if c.rpcbind && daemon.AtRPCBind(c.rdmaRPCBind) {
		return fmt.Errorf("--rpcbind needs rpcbind, which has port %d: leave out --rdma-rpcbind, or --rpcbind if "+
			"rpcbind does not run", rpcbind.Port)
	}
	switch c.rdmaRPCBind {
	case c.Listen:
		return fmt.Errorf("--rdma-rpcbind and --listen are both %s, which answers look-ups anyway: leave out "+
			"--rdma-rpcbind", c.Listen)
	case c.Mount:
		return fmt.Errorf("--rdma-rpcbind and --mount are both %s: RDMA and TCP need a port each", c.Mount)
	}
	return nil
}

// lookupProviders are those of --rdma-rpcbind: not that of SCTP, whose one UDP port is taken.
func (c *Config) lookupProviders() []string {
	if c.rdmaRPCBind == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.providers), func(name string) bool { return name == "sctp" })
}
