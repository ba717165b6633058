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
	f.Var((*directoryFlag)(&c.Exports), "export", "export directory DIR under the path NAME; may be repeated")
	f.Var((*memoryFlag)(&c.Exports), "memory", "export a file system in memory under the path NAME; may be repeated")
	f.StringVar(&c.exportsFile, "exports", "", "export what `FILE` says, in the format of exports(5); SIGHUP reads it again")
	f.BoolVar(&c.onlyCheck, "check", false, "read what is to be exported, tell it, and end")
	f.Var(&c.memorySize, "memory-size", "most that an export in memory may hold")
	f.Var((*stateFlag)(&c.state), "state", "DIR to keep in what lets file handles of directories survive a restart; made if missing")

	f.BoolVar(&c.newKey, "new-key", false, "make file handles with a new key; those of the key before stay good until the next new one")

	f.BoolVar(&c.readOnly, "read-only", false, "refuse all changes to exports of the command line")
	f.Var((*daemon.AllowFlag)(&c.allow), "allow", "only take connections of clients of the network CIDR, or of one address; may be repeated")
	f.Var(cli.SquashFlag{Choice: c.squash}, "squash", "callers of exports of the command line to take for the anonymous user: "+c.squash.Names())
	f.Var((*cli.UserFlag)(&c.anonUID), "anonuid", "anonymous user, by number or by name on this host")
	f.Var((*cli.GroupFlag)(&c.anonGID), "anongid", "group of the anonymous user, by number or by name on this host")

	f.Var(&c.sec, "sec", "flavours that calls may have, with colons between them, the preferred first: sys, who callers say they are; with "+
		"Kerberos krb5, who they are, krb5i, with checksums of all data, and krb5p, encrypted; without it sys; "+
		"for exports of the command line, and lines of a file of --exports without sec=")

	f.StringVar(&c.keytab, "keytab", "", "`FILE` with this host's keys, of nfs/HOST, for Kerberos; without it KRB5_KTNAME or /etc/krb5.keytab")
	f.StringVar(&c.principal, "principal", "", "`NAME` that clients' tickets are to be for, nfs/HOST or nfs/HOST@REALM; without it any that the keytab has")

	f.Var(&c.realms, "realm", "realm of Kerberos whose principals are this host's users by their names, alice@REALM alice; may be repeated; without it that of the keytab")
	f.StringVar(&c.mapUsers, "map-users", "", "`FILE` that says of other principals which users they are, a line each: a principal, and a user or UID:GID; with --exports, SIGHUP reads it again")

	f.BoolVar(&c.manageGIDs, "manage-gids", false, "take the groups of callers from this host's user database, not from what they say, which is 16 at most")

	f.StringVar(&c.Listen, "listen", ":20049", "`ADDRESS` for NFS and MOUNT over RDMA; port 0: any")
	f.StringVar(&c.Mount, "mount", defaultMount, "`ADDRESS` for MOUNT and NFS over TCP, or none")
	f.BoolVar(&c.rpcbind, "rpcbind", false, "tell clients the ports by the rpcbind of this host, until the end")
	f.StringVar(&c.rdmaRPCBind, "rdma-rpcbind", "", "`ADDRESS` to tell clients the ports at over RDMA, such as :111")

	f.Var(&c.providers, "provider", "RDMA providers to be reached over, with commas between them: iwarp; roce, "+
		"RoCE version 2, which Linux has as rdma_rxe; sctp, iWARP over SCTP in UDP")
	f.IntVar(&c.sctpUDP, "sctp-udp", sctp.DefaultUDPPort, "UDP `PORT` that carries SCTP; 0: any")
	c.tls.AddFlags(f, "`FILE` with this host's certificate, for TLS where a client over TCP asks for it (RFC 9289)",
		"`FILE` with the authorities of clients' certificates; with it there is nothing over TCP without TLS and such a one")
	f.Var(c.crc, "crc", "CRC32C in iWARP: "+c.crc.Names()+"; auto is on except on loopback addresses; what a client wants on is on")
	f.BoolVar(&c.markers, "markers", false, "have iWARP clients send markers; with them it is slower")
	f.Var(&c.inline, "inline", "largest message in one Send, each way")
	f.IntVar(&c.credits, "credits", 64, "`NUMBER` of calls that a client may have under way on a connection over RDMA")
	f.Var(c.dialect, "dialect", "rules of RPC-over-RDMA, the clients' too: "+c.dialect.Names()+"; Linux knows rfc8166")
	f.Var(c.conf, "conf", "clients that may set up their connection by CONF_RDMA, and raise the largest reply in one Send to 64KiB: "+c.conf.Names()+
		"; sys is those that name a user, gss those that prove by Kerberos who they are")
	f.Var(&c.align, "align", "alignment of the data in messages, with --dialect draft: a power of two, from 64 to half of --inline; 0: none")

	_ = cmd.RegisterFlagCompletionFunc("provider", completeProviders) // it exists

	c.logging.AddFlags(f)
	daemon.AddMetricsFlag(f, &c.metrics)
	daemon.AddDebugFlag(f, &c.debug)
}

// directoryFlag adds what --export names to the exports.
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

// memoryFlag adds what --memory names to the exports.
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

// checkName says what is wrong with the name of an export.
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
