package bench

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/bench"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
)

// checkHere checks that this host has the congestion control and the CPUs of the options.
func checkHere(o *bench.Options) error {
	if err := o.Sockets.Check(); err != nil {
		return fmt.Errorf("--congestion: %w", err)
	}
	cpus := slices.Concat(o.ServerCPUs, o.ClientCPUs)
	if len(cpus) == 0 {
		return nil
	}
	allowed, err := host.AllowedCPUs()
	if err != nil {
		return fmt.Errorf("--cpus: %w", err)
	}
	for _, cpu := range cpus {
		if !slices.Contains(allowed, cpu) {
			return fmt.Errorf("--cpus: there is no CPU %d for this process: it may use %s", cpu,
				host.FormatCPUs(allowed))
		}
	}
	return nil
}

// benchAddress splits the address of a bench server. The default port is benchPort.
func benchAddress(flag, addr string) (name, port string, err error) {
	name, port, err = net.SplitHostPort(addr)
	if err != nil {
		name, port = strings.TrimSuffix(strings.TrimPrefix(addr, "["), "]"), strconv.Itoa(benchPort)
	}
	if reach.CheckHost(name) != nil || strings.Contains(addr, "/") || addr == "" {
		return "", "", addressError(flag, addr)
	}
	return name, port, nil
}

// addressError says how the address of a bench server is written.
func addressError(flag, addr string) error {
	return fmt.Errorf("%s %s: write HOST[:PORT]", flag, cli.Printable(addr))
}

// ListenAddress parses where a bench server listens. Its five ports end with 65535.
func ListenAddress(addr string) (string, error) {
	name, port, err := benchAddress("--listen", addr)
	if err != nil {
		return "", err
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n > 65535-4 {
		return "", fmt.Errorf("--listen %s: write HOST[:PORT], with a port up to %d: the server also takes the "+
			"next four", cli.Printable(addr), 65535-4)
	}
	return net.JoinHostPort(name, port), nil
}

// ListenFailed says why a bench server cannot listen.
func ListenFailed(addr string, err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return fmt.Errorf("--listen %s: there is no host %s: write HOST[:PORT] with an address of this host, or "+
			":PORT for all", cli.Printable(addr), cli.Printable(dns.Name))
	}
	return daemon.ListenError("--listen", addr, err)
}
