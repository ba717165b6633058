package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// rpcbindTime bounds registering everything with rpcbind, or unregistering.
const rpcbindTime = 5 * time.Second

// removal is how root removes the registrations of NFS and MOUNT.
var removal = fmt.Sprintf("'rpcinfo -d %d %d' and 'rpcinfo -d %d %d'",
	nfs3.Program, nfs3.Version, mount3.Program, mount3.Version)

// RPCBindDialer connects to the rpcbind that a server registers with.
type RPCBindDialer func(context.Context) (*rpcbind.Client, error)

// RPCBindConfig says how to register with rpcbind.
type RPCBindConfig struct {
	dial RPCBindDialer
	// how long a registered server may take to answer
	answerTime time.Duration
}

// NewRPCBindConfig returns the defaults, with a dialer.
func NewRPCBindConfig(dial RPCBindDialer) RPCBindConfig { return RPCBindConfig{dial, 2 * time.Second} }

// Registration is the registration of a server with rpcbind.
type Registration struct {
	client *rpcbind.Client
	*rpcbind.Registration
}

// Register registers the programs with rpcbind. It fails if another server is registered and
// answers.
func Register(ctx context.Context, cfg RPCBindConfig, p *Ports, log *slog.Logger) (*Registration, error) {
	dialling, cancel := context.WithTimeout(ctx, rpcbindTime)
	defer cancel()
	client, err := cfg.dial(dialling)
	if err != nil {
		return nil, fmt.Errorf("--rpcbind: is rpcbind running? Start it with 'rpcbind -w', or leave out --rpcbind: %w",
			err)
	}
	others, err := p.Replaceable(ctx, client, cfg.answerTime)
	if err != nil {
		client.Close()
		return nil, err
	}
	r, err := p.register(ctx, client)
	if err != nil {
		client.Close()
		return nil, err
	}
	if len(others) > 0 {
		var was []string
		for _, m := range others {
			was = append(was, m.String())
		}
		log.Warn("replaced the rpcbind registration of a server that does not answer", "was", strings.Join(was, ", "))
	}
	return &Registration{client, r}, nil
}

// register cannot be interrupted: that would leave some programs registered.
func (p *Ports) register(ctx context.Context, c *rpcbind.Client) (*rpcbind.Registration, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rpcbindTime)
	defer cancel()
	r, err := rpcbind.Register(ctx, c, p.Mappings())
	switch {
	case errors.Is(err, rpcbind.ErrRefused):
		return nil, fmt.Errorf("--rpcbind: another user's server is registered, or only root may register: "+
			"rpcinfo shows what is registered, and root removes it with %s: %w", removal, err)
	case err != nil:
		return nil, fmt.Errorf("--rpcbind: %w", err)
	}
	return r, nil
}

// Mappings are the mappings to register.
func (p *Ports) Mappings() []rpcbind.Mapping {
	return slices.Concat(p.each(nfs3.Program, nfs3.Version), p.each(mount3.Program, mount3.Version))
}

// Lookups are the mappings that clients can look up: those to register, and rpcbind itself, without
// which rpcinfo -p stops. Over RDMA, rpcbind is at the port of --rdma-rpcbind, if there is one.
func (p *Ports) Lookups() []rpcbind.Mapping {
	at := Ports{rdma: p.rdma, TCP: p.TCP}
	if len(p.rpcbind) > 0 {
		at.rdma = p.rpcbind
	}
	return slices.Concat(at.each(rpcbind.Program, rpcbind.Version4), at.each(rpcbind.Program, rpcbind.Version3),
		at.each(rpcbind.Program, rpcbind.Version2), p.Mappings())
}

// each maps a program to each port.
func (p *Ports) each(program, version uint32) []rpcbind.Mapping {
	var all []rpcbind.Mapping
	if len(p.rdma) > 0 { // all of them have the same port
		all = rpcbind.Mappings(program, version, rpcbind.NetidRDMA, p.rdma[0].at())
	}
	if p.TCP != nil {
		all = append(all, rpcbind.Mappings(program, version, rpcbind.NetidTCP, AddrPort(p.TCP.Addr()))...)
	}
	return all
}

// Netids lists the registered netids, such as tcp and rdma.
func (r *Registration) Netids() []string {
	var ids []string
	for _, m := range r.Mappings() {
		if !slices.Contains(ids, m.Netid) {
			ids = append(ids, m.Netid)
		}
	}
	return ids
}

// Withdraw unregisters everything. It logs errors and does not return them: an rpcbind that has
// stopped has forgotten the server.
func (r *Registration) Withdraw(ctx context.Context, log *slog.Logger) {
	if r == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, rpcbindTime)
	defer cancel()
	defer r.client.Close()
	if err := r.Unregister(ctx); err != nil {
		what := "cannot unregister from rpcbind: if it comes back and still knows this server, root removes that with "
		if errors.Is(err, rpcbind.ErrRefused) {
			what = "this server is still registered with rpcbind: root removes that with "
		}
		log.Warn(what+removal, "err", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}
