package remote

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// contexts are the RPCSEC_GSS flavours of calls to a server. Each has its own context.
type contexts struct {
	mu   sync.Mutex // guards made
	made map[mount3.Flavor]*gss.ClientFlavor
}

// kerberos are the flavours that a ticket can be used for.
var kerberos = []mount3.Flavor{mount3.FlavorKrb5, mount3.FlavorKrb5i, mount3.FlavorKrb5p}

// Flavor returns the RPC flavour for a flavour of NFS.
func (s *Server) Flavor(f mount3.Flavor) (oncrpc.ClientFlavor, error) {
	if !f.Proves() {
		return s.Cred, nil
	}
	target, err := s.service()
	if err != nil {
		return nil, err
	}
	initiator, err := s.Flags.Kerberos.Initiator()
	if err != nil {
		return nil, err
	}
	c := &s.contexts
	c.mu.Lock()
	defer c.mu.Unlock()
	made := c.made[f]
	if made == nil {
		made = gss.NewClientFlavor(gss.ClientConfig{Initiator: initiator, Target: target, Service: f.Service()})
		if c.made == nil {
			c.made = make(map[mount3.Flavor]*gss.ClientFlavor)
		}
		c.made[f] = made
	}
	return made, nil
}

// ConfFlavor returns the flavour for CONF_RDMA. With Kerberos it is at least krb5i, so that the
// request has a checksum.
func (s *Server) ConfFlavor() (oncrpc.ClientFlavor, error) {
	if s.Target.Sec == mount3.FlavorKrb5 {
		return s.Flavor(mount3.FlavorKrb5i)
	}
	return s.Flavor(s.Target.Sec)
}

// service is the name of the server's NFS for Kerberos (RFC 2623 section 3.1).
func (s *Server) service() (string, error) {
	host := s.Target.Host
	if _, err := netip.ParseAddr(host); err == nil {
		return "", &UnprovenError{HostByAddress,
			"Kerberos knows hosts by their names: write that of " + cli.Printable(host) + " in the URL"}
	}
	return "nfs@" + strings.TrimSuffix(strings.ToLower(host), "."), nil
}

// unproven returns why calls to the server cannot use Kerberos, or nil.
func (s *Server) unproven() error {
	if _, err := s.service(); err != nil {
		return err
	}
	_, err := s.Flags.Kerberos.Initiator()
	return err
}

// Have returns the flavours that NFS calls can have: that of the URL, or else all for which there
// are credentials. The server chooses one.
func (s *Server) Have() []mount3.Flavor {
	switch {
	case s.Target.Sec != 0:
		return []mount3.Flavor{s.Target.Sec}
	case s.unproven() != nil:
		return []mount3.Flavor{mount3.FlavorSys}
	}
	return append([]mount3.Flavor{mount3.FlavorSys}, kerberos...)
}

// explainFlavor adds what to do if the server wants another flavour.
func (s *Server) explainFlavor(err error) error {
	var (
		refused *nfsmount.Error
		want    *nfsmount.FlavorError
	)
	if !errors.As(err, &refused) || !errors.As(err, &want) {
		return err
	}
	takes := fmt.Sprintf("%s is for callers with sec=%s", cli.Printable(refused.Path), choices(want.Flavors))
	why := s.unproven()
	switch {
	case s.Target.Sec != 0 && slices.Contains(want.Flavors, mount3.FlavorNone) &&
		!slices.ContainsFunc(want.Flavors, known):
		return fmt.Errorf("%s, but the URL says sec=%v: leave that out", takes, s.Target.Sec)
	case !slices.ContainsFunc(want.Flavors, known):
		return err
	case s.Target.Sec != 0:
		return fmt.Errorf("%s, but the URL says sec=%v: leave that out, or write one of these", takes, s.Target.Sec)
	case why != nil:
		return fmt.Errorf("%s: %w", takes, why)
	}
	return err
}

// Fallback says why calls to an export do not use Kerberos, though the server prefers it. It is
// empty if they do, or if the URL has sec=.
func (s *Server) Fallback(root *nfsmount.Root) string {
	first := slices.IndexFunc(root.Flavors, known)
	if s.Target.Sec != 0 || first < 0 || !root.Flavors[first].Proves() || root.Flavor.Proves() {
		return ""
	}
	why := s.unproven()
	if why == nil {
		return ""
	}
	return fmt.Sprintf("calls have sec=%v, since for sec=%v %v", root.Flavor, root.Flavors[first],
		why)
}

// choices are the flavours of a server's list that a URL can name, or all if it can name none.
func choices(list []mount3.Flavor) string {
	if some := slices.DeleteFunc(slices.Clone(list), func(f mount3.Flavor) bool { return !known(f) }); len(some) > 0 {
		list = some
	}
	return mount3.FormatFlavors(list)
}

// known reports whether commands support a flavour.
func known(f mount3.Flavor) bool { return f == mount3.FlavorSys || f.Proves() }

// hasContexts reports whether the server has been called with Kerberos.
func (s *Server) hasContexts() bool {
	s.contexts.mu.Lock()
	defer s.contexts.mu.Unlock()
	return len(s.contexts.made) > 0
}

// Forget destroys the contexts at the server, by calls over a connection.
func (s *Server) Forget(ctx context.Context, conn oncrpc.Transport) {
	s.contexts.mu.Lock()
	defer s.contexts.mu.Unlock()
	for _, f := range s.contexts.made {
		// ignore errors: the server drops old contexts by itself
		_ = f.Close(ctx, oncrpc.NewClient(conn, nfs3.Program, nfs3.Version, f))
	}
}
