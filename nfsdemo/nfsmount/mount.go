package nfsmount

import (
	"context"
	"errors"
	"net/netip"
	"path"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Mount mounts the export that contains dir. If the server refuses, the error is an *Error.
func (s *Service) Mount(ctx context.Context, dir string) (Root, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	conn, release, err := s.connect(ctx)
	if err != nil {
		return Root{}, err
	}
	defer release()
	m := mounting{s: s, conn: conn, dir: clean(dir)}
	m.list, m.listErr = nfsclient.Exports(ctx, conn, s.cfg.Flavor)
	if m.listErr != nil && (ctx.Err() != nil || conn.Err() != nil) {
		return Root{}, m.listErr
	}
	if export, _, ok := ExportOf(m.list, m.dir); ok {
		return m.mount(ctx, export, true)
	}
	return m.guess(ctx)
}

// mounting is the state of Mount.
type mounting struct {
	s       *Service
	conn    oncrpc.Transport
	dir     string
	list    []mount3.Export
	listErr error
}

// guess tries the directory itself, and then those above. It returns the first error.
func (m *mounting) guess(ctx context.Context) (Root, error) {
	var first error
	p := m.dir
	for len(p) > mount3.MaxPath { // MNT has no longer ones
		p = path.Dir(p)
	}
	for range maxGuesses {
		root, err := m.mount(ctx, p, false)
		if err == nil {
			return root, nil
		}
		if first == nil {
			first = err
		}
		if status := mount3.OK; p == "/" || !errors.As(err, &status) {
			break
		}
		p = path.Dir(p)
	}
	return Root{}, first
}

// mount mounts a directory. listed says that it is a listed export.
func (m *mounting) mount(ctx context.Context, export string, listed bool) (Root, error) {
	var res mount3.MntRes
	var flavor mount3.Flavor
	c := oncrpc.NewClient(m.conn, mount3.Program, mount3.Version, m.s.cfg.Flavor)
	err := c.Do(ctx, &oncrpc.Request{
		Procedure: uint32(mount3.ProcMnt),
		Args:      &mount3.MntArgs{Path: export},
		Reply:     &res,
		MaxReply:  mount3.ProcMnt.Info().MaxReply,
		MayRepeat: true, // a second MNT has the same effect
	})
	switch {
	case err != nil:
	case res.Status != mount3.OK:
		err = res.Status
	default:
		var ok bool
		if flavor, ok = choose(res.Flavors, m.s.cfg.flavors()); !ok {
			err = &FlavorError{res.Flavors, m.s.cfg.flavors()}
		}
	}
	if err != nil {
		return Root{}, &Error{
			Host: m.host(), Path: export, Listed: listed, Exports: m.list, ExportErr: m.listErr,
			Unprivileged: unprivileged(m.conn), Err: err,
		}
	}
	rest, _ := holds(clean(export), m.dir)
	return Root{
		Handle: res.Root, Export: export, Rest: rest, Flavors: res.Flavors, Flavor: flavor, service: m.s,
	}, nil
}

// choose returns the first flavour in takes that the client has. A server that takes AUTH_NONE also
// takes AUTH_SYS and other flavours without proof, because it ignores the credential. Not so
// RPCSEC_GSS: that needs a context, for which the server may have no key. If the server lists no
// flavours, it returns the client's first.
func choose(takes, have []mount3.Flavor) (f mount3.Flavor, ok bool) {
	for _, f := range takes {
		if slices.Contains(have, f) {
			return f, true
		}
	}
	if len(takes) == 0 {
		return have[0], true
	}
	if i := slices.IndexFunc(have, provesNothing); i >= 0 {
		return have[i], slices.Contains(takes, mount3.FlavorNone)
	}
	return 0, false
}

func provesNothing(f mount3.Flavor) bool { return !f.Proves() }

// host returns the name or address of the server.
func (m *mounting) host() string {
	if m.s.cfg.Host != "" {
		return m.s.cfg.Host
	}
	return m.conn.RemoteAddr().String()
}

// unprivileged reports whether the local port of a connection is 1024 or above.
func unprivileged(t oncrpc.Transport) bool {
	a, ok := t.LocalAddr().(interface{ AddrPort() netip.AddrPort }) // as *net.TCPAddr and roce.Addr
	return ok && a.AddrPort().Port() >= 1024
}
