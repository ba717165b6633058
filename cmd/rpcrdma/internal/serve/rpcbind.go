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

// rpcbindTime is how long rpcbind may take to register everything, or to forget it.
const rpcbindTime = 5 * time.Second

// removal is how root removes what is registered of NFS and MOUNT.
var removal = fmt.Sprintf("'rpcinfo -d %d %d' and 'rpcinfo -d %d %d'", nfs3.Program, nfs3.Version, mount3.Program, mount3.Version)

// RPCBindDialer connects to the rpcbind to register with.
type RPCBindDialer func(context.Context) (*rpcbind.Client, error)

// RPCBindConfig says how to register.
type RPCBindConfig struct {
	dial RPCBindDialer
	// how long a server that is registered may take to show that it is alive
	answerTime time.Duration
}

// NewRPCBindConfig returns how rpcbind is reached, by default.
func NewRPCBindConfig(dial RPCBindDialer) RPCBindConfig { return RPCBindConfig{dial, 2 * time.Second} }

// Registration is what rpcbind knows of a server.
type Registration struct {
	client *rpcbind.Client
	*rpcbind.Registration
}

// Register tells rpcbind where the programs are served, unless another server is alive that is
// registered.
func Register(ctx context.Context, cfg RPCBindConfig, p *Ports, log *slog.Logger) (*Registration, error) {
	dialling, cancel := context.WithTimeout(ctx, rpcbindTime)
	defer cancel()
	client, err := cfg.dial(dialling)
	if err != nil {
		return nil, fmt.Errorf("--rpcbind: is rpcbind running? Start it with 'rpcbind -w', or leave out --rpcbind: %w", err)
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
		log.Warn("replaced in rpcbind the registration of a server that does not answer", "was", strings.Join(was, ", "))
	}
	return &Registration{client, r}, nil
}

// register is not interrupted in the middle, which would leave some registered.
func (p *Ports) register(ctx context.Context, c *rpcbind.Client) (*rpcbind.Registration, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rpcbindTime)
	defer cancel()
	r, err := rpcbind.Register(ctx, c, p.Mappings())
	switch {
	case errors.Is(err, rpcbind.ErrRefused):
		return nil, fmt.Errorf("--rpcbind: another user's server is registered, or registering is not for everybody: "+
			"rpcinfo shows what there is, and root removes it with %s: %w", removal, err)
	case err != nil:
		return nil, fmt.Errorf("--rpcbind: %w", err)
	}
	return r, nil
}

// Mappings is what to register.
func (p *Ports) Mappings() []rpcbind.Mapping {
	return slices.Concat(p.each(nfs3.Program, nfs3.Version), p.each(mount3.Program, mount3.Version))
}

// Lookups is what callers can look up: what there is to register, and, as rpcbind has it, the
// program of the look-ups itself, without which rpcinfo -p does not go on. Over RDMA that is at its
// own port, if it has one.
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

// Netids lists the kinds of transport that are registered.
func (r *Registration) Netids() []string {
	var ids []string
	for _, m := range r.Mappings() {
		if !slices.Contains(ids, m.Netid) {
			ids = append(ids, m.Netid)
		}
	}
	return ids
}

// Withdraw takes it all back, if there is anything. What it does not take back is no reason to
// fail: an rpcbind that is gone has forgotten.
func (r *Registration) Withdraw(ctx context.Context, log *slog.Logger) {
	if r == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, rpcbindTime)
	defer cancel()
	defer r.client.Close()
	if err := r.Unregister(ctx); err != nil {
		what := "cannot unregister: what rpcbind has of this server when it is back, root removes with "
		if errors.Is(err, rpcbind.ErrRefused) {
			what = "still registered with rpcbind: root removes it with "
		}
		log.Warn(what+removal, "err", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}
