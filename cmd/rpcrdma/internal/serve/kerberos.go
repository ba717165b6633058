package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
)

// service is this server in Kerberos. It accepts RPCSEC_GSS on all ports.
type service struct {
	flavor     *gss.ServerFlavor
	principals []string // "nfs/host.example.org@EXAMPLE.ORG"
	users      atomic.Pointer[users.Principals]
}

// wantsKerberos says which flag or export needs Kerberos; "" means none.
func (c *Config) wantsKerberos(all []Export) string {
	switch name := proven(all); {
	case name != "":
		return "callers of " + cli.Printable(name) + " must prove who they are (sec=krb5 and the like)"
	case c.conf.Value == confGSS:
		return "--conf gss is for callers who prove who they are"
	case c.keytab != "":
		return "--keytab"
	case c.principal != "":
		return "--principal"
	case c.mapUsers != "":
		return "--map-users"
	case len(c.realms) > 0:
		return "--realm"
	}
	return ""
}

// openService reads the keytab. It returns nil if nothing needs Kerberos.
func (c *Config) openService(all []Export, log *slog.Logger) (*service, error) {
	why := c.wantsKerberos(all)
	if why == "" {
		return nil, nil
	}
	a, err := krb5.NewAcceptor(krb5.AcceptorConfig{Keytab: c.keytab, Principal: c.principal})
	if err != nil {
		return nil, keytabError(why, err)
	}
	s := &service{principals: a.Principals()}
	if c.principal == "" && !slices.ContainsFunc(s.principals, isNFS) {
		return nil, keytabError(why, fmt.Errorf("the keytab has keys of %s, but clients ask for nfs/HOST",
			strings.Join(s.principals, ", ")))
	}
	known, err := s.readUsers(c, log)
	if err != nil {
		return nil, err
	}
	s.users.Store(known)
	s.flavor = gss.NewServerFlavor(gss.ServerConfig{Acceptor: a, Logger: log})
	return s, nil
}

// describe writes what clients need tickets for. A nil service writes nothing.
func (s *service) describe(b *strings.Builder, c *Config, all []Export) {
	if s == nil {
		return
	}
	fmt.Fprintf(b, "Kerberos: clients need tickets for %s", strings.Join(s.principals, ", "))
	if proven(all) == "" && c.conf.Value != confGSS {
		b.WriteString("; no export asks for them: use --sec or the option sec=")
	}
	b.WriteString("\n")
}

// readUsers returns the map from principals to users, of this host's database and of --map-users.
func (s *service) readUsers(c *Config, log *slog.Logger) (*users.Principals, error) {
	if s == nil {
		return nil, nil
	}
	cfg := users.Config{Realms: c.realms, Logger: log}
	if len(cfg.Realms) == 0 {
		for _, p := range s.principals {
			if _, realm, ok := strings.Cut(p, "@"); ok && !slices.Contains(cfg.Realms, realm) {
				cfg.Realms = append(cfg.Realms, realm)
			}
		}
	}
	var err error
	if cfg.Map, err = c.readMap(); err != nil {
		return nil, err
	}
	return users.NewPrincipals(cfg)
}

// readMap reads the file of --map-users. Without the flag it returns nil.
func (c *Config) readMap() (m *users.Map, err error) {
	if c.mapUsers == "" {
		return nil, nil
	}
	f, err := os.Open(c.mapUsers)
	if err == nil {
		defer f.Close()
		m, err = users.ParseMap(f)
	}
	if err != nil {
		return nil, fmt.Errorf("--map-users %s: %w", cli.Printable(c.mapUsers), err)
	}
	return m, nil
}

// checkMap checks that this host has all users of the file of --map-users.
func (c *Config) checkMap() error {
	m, err := c.readMap()
	if err != nil || m == nil {
		return err
	}
	if err := m.Check(users.Host()); err != nil {
		return fmt.Errorf("--map-users %s: %w", cli.Printable(c.mapUsers), err)
	}
	return nil
}

// realmsFlag is --realm.
type realmsFlag []string

// Set takes one.
func (f *realmsFlag) Set(s string) error {
	if s == "" || strings.ContainsAny(s, "@/\\ ") {
		return errors.New("write a realm, such as EXAMPLE.ORG")
	}
	*f = append(*f, s)
	return nil
}

// String returns nothing: there is no default to show.
func (f *realmsFlag) String() string { return "" }

// Type names the value in the usage.
func (f *realmsFlag) Type() string { return "REALM" }

// Repeatable says that each one is added.
func (f *realmsFlag) Repeatable() {}

// isNFS reports whether NFS clients ask for a principal (RFC 2623 section 3.1).
func isNFS(principal string) bool { return strings.HasPrefix(principal, "nfs/") }

// keytabError says that the keytab cannot be used, why it is needed, and what to do.
func keytabError(why string, err error) error {
	host := "HOST"
	if name, e := os.Hostname(); e == nil && strings.Contains(name, ".") {
		host = name
	}
	do := fmt.Sprintf("on the KDC, 'addprinc -randkey nfs/%s' and 'ktadd -k FILE nfs/%[1]s' of kadmin make one; "+
		"--keytab FILE names it, where it is not /etc/krb5.keytab", host)
	if errors.Is(err, os.ErrPermission) {
		do = "run serve as a user who may read it"
	}
	return fmt.Errorf("%s, which needs a keytab with this host's keys: %w; %s", why, err, do)
}

// kerberosLater says what to do if a reload needs Kerberos, but the start did not.
func kerberosLater(err error) error {
	if errors.Is(err, nfsserver.ErrNoGSS) {
		return fmt.Errorf("%w: restart serve, so that it reads the keytab (--keytab)", err)
	}
	return err
}

// flavors are the flavours that the server accepts.
func (s *service) flavors() []oncrpc.ServerFlavor {
	if s == nil {
		return nil // the defaults of package oncrpc
	}
	return []oncrpc.ServerFlavor{oncrpc.AcceptAuthSys(), oncrpc.AcceptAuthNone(), oncrpc.AcceptAuthTLS(), s.flavor}
}

// user returns the user for a principal, or nil.
func (s *service) user(ctx context.Context, peer net.Addr, principal string) (
	*vfs.Cred, error) {
	if s == nil {
		return nil, nil
	}
	return s.users.Load().User(ctx, peer, principal)
}

// stats returns the counters of the flavour.
func (s *service) stats() gss.ServerStats {
	if s == nil {
		return gss.ServerStats{}
	}
	return s.flavor.Stats()
}

// host is the host of the NFS principal, which clients must use to mount; "" means not known.
func (s *service) host() string {
	if s == nil {
		return ""
	}
	for _, p := range s.principals {
		if rest, ok := strings.CutPrefix(p, "nfs/"); ok {
			host, _, _ := strings.Cut(rest, "@")
			return host
		}
	}
	return ""
}
