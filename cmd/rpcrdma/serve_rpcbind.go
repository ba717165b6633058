package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// rpcbindTime is how long rpcbind may take to register everything, or to forget it.
const rpcbindTime = 5 * time.Second

// rpcbindDialer connects to the rpcbind to register with.
type rpcbindDialer func(context.Context) (*rpcbind.Client, error)

// registration is what rpcbind knows of a server.
type registration struct {
	client *rpcbind.Client
	*rpcbind.Registration
}

// register tells rpcbind where the programs are served. It is not interrupted in the middle, which would leave some registered.
func register(ctx context.Context, dial rpcbindDialer, p *ports) (*registration, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rpcbindTime)
	defer cancel()
	client, err := dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("--rpcbind: is rpcbind running? Start it with 'rpcbind -w', or serve without --rpcbind: %w", err)
	}
	r, err := rpcbind.Register(ctx, client, p.mappings())
	switch {
	case errors.Is(err, rpcbind.ErrRefused):
		err = fmt.Errorf("--rpcbind: another user's server is registered, or registering is not for everybody: "+
			"rpcinfo shows what there is, and root removes it with 'rpcinfo -d PROGRAM VERSION': %w", err)
	case err != nil:
		err = fmt.Errorf("--rpcbind: %w", err)
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return &registration{client, r}, nil
}

// mappings is what to register: each program on each port.
func (p *ports) mappings() []rpcbind.Mapping {
	var all []rpcbind.Mapping
	for _, program := range [][2]uint32{{nfs3.Program, nfs3.Version}, {mount3.Program, mount3.Version}} {
		add := func(base string, a net.Addr) {
			all = append(all, rpcbind.Mappings(program[0], program[1], base, a.(*net.TCPAddr).AddrPort())...)
		}
		add(rpcbind.RDMA, p.rdma.Addr())
		if p.tcp != nil {
			add(rpcbind.TCP, p.tcp.Addr())
		}
	}
	return all
}

// netids lists the kinds of transport that are registered.
func (r *registration) netids() []string {
	var ids []string
	for _, m := range r.Mappings() {
		if !slices.Contains(ids, m.Netid) {
			ids = append(ids, m.Netid)
		}
	}
	return ids
}

// unregister takes it all back.
func (r *registration) unregister(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rpcbindTime)
	defer cancel()
	defer r.client.Close()
	return r.Unregister(ctx)
}
