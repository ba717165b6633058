package serve

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// addFlags defines the flags.
func (c *Config) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.Var((*directoryFlag)(&c.Exports), "export", "export the directory DIR under the path NAME; may be repeated")
	f.Var((*memoryFlag)(&c.Exports), "memory", "export a file system in memory under the path NAME; may be repeated")
	f.StringVar(&c.exportsFile, "exports", "",
		"export what `FILE` lists, in the format of exports(5); SIGHUP reads it again")
	f.BoolVar(&c.onlyCheck, "check", false, "print what would be exported to whom, and exit")
	f.Var(&c.memorySize, "memory-size", "most data that an export in memory may hold")
	f.Var((*stateFlag)(&c.state), "state",
		"keep in DIR what lets file handles of directories survive a restart; DIR is created if missing")

	f.BoolVar(&c.newKey, "new-key", false,
		"make file handles with a new key; handles of the previous key stay valid until the next new one")
	f.BoolVar(&c.revokeKeys, "revoke-keys", false,
		"make file handles with a new key, and refuse all others, if somebody may have read the files "+
			"of --state; clients must mount again")

	f.BoolVar(&c.readOnly, "read-only", false, "refuse all changes to the exports of the command line")
	f.Var((*daemon.AllowFlag)(&c.allow), "allow",
		"take connections only from the network CIDR, or from one address; may be repeated")
	f.Var(cli.SquashFlag{Choice: c.squash}, "squash",
		"callers that become the anonymous user, in the exports of the command line: "+c.squash.Names())
	f.Var((*cli.UserFlag)(&c.anonUID), "anonuid", "the anonymous user, by number or by name on this host")
	f.Var((*cli.GroupFlag)(&c.anonGID), "anongid", "the group of the anonymous user, by number or by name on this host")

	f.Var(&c.sec, "sec",
		"flavours that calls may have, the preferred first, separated by colons: sys (callers say who "+
			"they are), krb5 (Kerberos proves it), krb5i (also checksums all data), krb5p (also encrypts it); "+
			"for exports of the command line, and for lines without sec= of --exports; default sys")

	f.StringVar(&c.keytab, "keytab", "",
		"`FILE` with this host's keys for Kerberos, of nfs/HOST; default KRB5_KTNAME or /etc/krb5.keytab")
	f.StringVar(&c.principal, "principal", "",
		"`NAME` that clients' tickets must be for, nfs/HOST or nfs/HOST@REALM; default any in the keytab")

	f.Var(&c.realms, "realm",
		"Kerberos realm whose principals are the users of this host with the same name (alice@REALM is "+
			"alice); may be repeated; default that of the keytab")
	f.StringVar(&c.mapUsers, "map-users", "",
		"`FILE` that maps other principals to users; each line has a principal, and a user or UID:GID; with "+
			"--exports, SIGHUP reads it again")

	f.BoolVar(&c.manageGIDs, "manage-gids", false,
		"take callers' groups from this host's user database, not from their calls, which have at most 16")

	f.StringVar(&c.Listen, "listen", ":20049", "`ADDRESS` for NFS and MOUNT over RDMA; port 0 picks a free one")
	f.StringVar(&c.Mount, "mount", defaultMount, "`ADDRESS` for MOUNT and NFS over TCP, or the word none")
	f.BoolVar(&c.rpcbind, "rpcbind", false,
		"register with this host's rpcbind while serve runs, so that clients find the ports")
	f.StringVar(&c.rdmaRPCBind, "rdma-rpcbind", "",
		"`ADDRESS` at which clients look up the ports over RDMA, such as :111")

	f.Var(&c.providers, "provider",
		"RDMA providers for clients, separated by commas: iwarp; roce (RoCE version 2, Linux's rdma_rxe); "+
			"sctp (iWARP over SCTP in UDP)")
	f.IntVar(&c.sctpUDP, "sctp-udp", sctp.DefaultUDPPort, "UDP `PORT` that carries SCTP; 0 picks a free one")
	c.tls.AddFlags(f, "`FILE` with this host's certificate, in PEM; clients over TCP may then use TLS (RFC 9289)",
		"`FILE` with the authorities of clients' certificates, in PEM; clients over TCP must then use TLS, "+
			"with such a certificate")
	f.Var(c.crc, "crc",
		"CRC32C in iWARP: "+c.crc.Names()+"; auto is on, except on loopback addresses; a client can turn it on")
	f.BoolVar(&c.markers, "markers", false, "have iWARP clients send markers, which makes transfers slower")
	f.Var(&c.inline, "inline", "largest message in one Send, in each direction")
	f.IntVar(&c.credits, "credits", 64,
		"`NUMBER` of calls that a client may have under way on one connection over RDMA")
	f.Var(c.dialect, "dialect",
		"dialect of RPC-over-RDMA, which clients must speak, too: "+c.dialect.Names()+"; Linux speaks rfc8166")
	f.Var(c.conf, "conf",
		"clients that may set up their connection by CONF_RDMA, and raise the largest reply in one Send "+
			"to 64KiB: "+c.conf.Names()+"; sys is those that name a user, gss those that "+
			"call with krb5i or krb5p of Kerberos")
	f.Var(&c.align, "align",
		"alignment of the data in messages, with --dialect draft, in bytes: a power of two, from 64 to half "+
			"of --inline; 0 is none")

	_ = cmd.RegisterFlagCompletionFunc("provider", completeProviders) // it exists

	c.logging.AddFlags(f)
	daemon.AddMetricsFlag(f, &c.metrics)
	daemon.AddDebugFlag(f, &c.debug)
}

// directoryFlag is --export. It adds to the exports.
type directoryFlag []Export

// Set takes NAME=DIR.
func (f *directoryFlag) Set(s string) error {
	name, dir, ok := strings.Cut(s, "=")
	if !ok || dir == "" {
		return errors.New("write NAME=DIR, such as /export=/srv/data")
	}
	if err := checkName(name); err != nil {
		return err
	}
	*f = append(*f, Export{Name: name, Dir: dir})
	return nil
}

// Repeatable says that each use adds an export.
func (f *directoryFlag) Repeatable() {}

// String returns nothing: there is no default to show.
func (f *directoryFlag) String() string { return "" }

// Type names the value in the usage.
func (f *directoryFlag) Type() string { return "NAME=DIR" }

// memoryFlag is --memory. It adds to the exports.
type memoryFlag []Export

// Set takes NAME.
func (f *memoryFlag) Set(s string) error {
	if err := checkName(s); err != nil {
		return err
	}
	*f = append(*f, Export{Name: s})
	return nil
}

// Repeatable says that each use adds an export.
func (f *memoryFlag) Repeatable() {}

// String returns nothing: there is no default to show.
func (f *memoryFlag) String() string { return "" }

// Type names the value in the usage.
func (f *memoryFlag) Type() string { return "NAME" }

// checkName checks the name of an export.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the export has no name: write an absolute path, such as /export")
	case !path.IsAbs(name):
		return fmt.Errorf("the name of an export is an absolute path: write %s", cli.Printable(path.Clean("/"+name)))
	case path.Clean(name) != name:
		return fmt.Errorf("the name of an export is a path without detours: write %s", cli.Printable(path.Clean(name)))
	case len(name) > mount3.MaxPath:
		return fmt.Errorf("the name of an export has at most %d bytes", mount3.MaxPath)
	}
	return nil
}
