package serve

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
)

// NewCommand returns the command serve. dial connects to rpcbind.
func NewCommand(dial RPCBindDialer) *cobra.Command {
	cfg := NewConfig(dial)
	cmd := &cobra.Command{
		Use:   "serve {--export NAME=DIR | --memory NAME | --exports FILE}...",
		Short: "Export directories by NFS, over RDMA and TCP",
		Long: `Serve exports directories of this host, and file systems in memory, by NFS version 3. Clients
reach them over TCP and over RDMA. RDMA is iWARP or RoCE in software, and needs no RDMA hardware
on this host. When it is ready, serve prints the commands with which Linux mounts the exports.

NAME is the absolute path by which clients mount an export: HOST:NAME. A directory DIR keeps
what is written. Serve does not enter what is mounted below DIR, be it another file system or a
subvolume of btrfs: export that by itself. A file system in memory is empty at first, and lost
at the end. Its root directory has mode 1777, like /tmp, so that everybody can make files in it.

Serve takes callers for the users that they name, except for those that --squash names. By
default these are user 0, and group 0 of any user: root on a client becomes the anonymous user.
Backups and installations need --squash none. If serve runs as root, files that clients make in
directories belong to the clients' users. Otherwise they belong to the user that runs serve, who
needs permission for all that clients do.

Nothing is encrypted without --sec krb5p or --tls-cert. Serve to networks that you trust, and
name them with --allow.

--read-only, --squash, --anonuid and --anongid are for the exports of the command line, not for
those of --exports; with --exports alone they are an error. --sec is also for the lines of that
file that have no sec=. --allow is for all exports.

With --exports, FILE lists what is exported and to whom, in the format of exports(5): each path
with its clients, and their options. The option memory makes a file system in memory. On SIGHUP,
serve reads the file again, and looks up the names of hosts again: exports come, go and change
under clients that have mounted them. If the file has an error, nothing changes, and the log
says why. The log also warns of clients that never count, and of options that are for everybody
because a blank parts them from their client. A directory that is removed and made again is
exported again; with the option mp, a path is exported when something is mounted there.

--check prints each export and its clients, one a line. Serve compares a host with them in this
order: the first that matches counts. "For everybody" means all hosts. The warnings of the log
follow.

As with Linux, the option insecure is needed for calls from ports above 1023. Over TCP, either
mount without noresvport, or set insecure. Over RDMA, set insecure: there, Linux's client calls
from any port, with noresvport or without.

With krb5, krb5i or krb5p in --sec, callers prove with Kerberos who they are. Krb5i adds
checksums of all data; krb5p encrypts it. This needs a keytab (--keytab) with the keys of
nfs/HOST, where HOST is the name that clients mount from. Principals of the keytab's realm are
the users of this host with the same name: alice@REALM is alice. --realm names other realms.
--map-users FILE maps other principals, with lines such as 'nfs/build.example.org@REALM build'
or 'bob@OTHER 1002:100'; with --exports, SIGHUP reads this file again, too. A principal without
a user becomes the anonymous user, and the log says so. Serve needs no krb5.conf.

Users and groups of this host are those of getent(1) and id(1), with all sources in
nsswitch.conf. Without these commands they are those of /etc/passwd and /etc/group. Serve prints
which. If a look-up fails, the user keeps the last groups that were found. Until some are, the
user's calls wait, and mounting fails.

With Kerberos, serve also answers NFS over TCP at port 2049: Linux makes its Kerberos contexts
for NFS over RDMA there, whatever its option port= says. A firewall has to let that port
through, --mount must name port 20048 or 2049, and no nfsd or gateway of this host may have port
2049.

With --provider iwarp,roce, clients reach the port of --listen by either. RoCE needs Linux, and
no NAT on the way. Its packets go to UDP port 4791, which only one process can have at an
address; the kernel's rdma_rxe takes it, too. Without a host in --listen, RoCE is at all
addresses that this host has when serve starts.

With --rpcbind, serve registers with this host's rpcbind. Clients then need no mountport, and
over TCP no port at all; showmount -e and rpcinfo work. Over RDMA, Linux needs the port in any
case. A host can have one NFS server in rpcbind: if another one is there and answers, serve
fails; if it does not answer, serve replaces it.

Both ports of serve answer the look-ups of rpcbind, with or without --rpcbind: a client that
knows one port asks there for the other. --rdma-rpcbind opens one more port over RDMA, for
look-ups alone. The port of rpcbind is 111. It needs privileges, and iWARP can have it only
where no rpcbind listens on it for TCP.

With --dialect draft, connections over RDMA follow draft-ietf-nfsv4-rpcrdma-08, which came
before RFC 8166. Clients are then rpcrdma's commands and gateways with --dialect draft; Linux
mounts over TCP. In either dialect, a client may ask for other sizes of messages by CONF_RDMA
(see rpcrdma conf).

With --config, a file sets these flags by their names, such as listen = ":20049". A flag that
may be repeated takes a list: export = ["/a=/srv/a", "/b=/srv/b"]. A flag on the command line
replaces what the file has for it. Serve reads the file once, at the start.

After a restart with the same --state, clients that have mounted a directory go on as if nothing
had happened. Without --state, they have to mount it again.

SIGTERM, SIGINT and, without --exports, SIGHUP stop the server in order: it takes no new calls,
answers those under way for up to 10 seconds, and exits with 0. Another signal stops it at once,
if it comes more than a second after the first. Under nohup, SIGHUP does nothing. Serve exits
with 1 if something fails, such as a port that is taken, and with 2 if the command line is
wrong.`,
		Example: `  # A directory, for the hosts of one network; mounts survive a restart
  rpcrdma serve --export /data=/srv/data --allow 192.168.1.0/24 --state /var/lib/rpcrdma

  # A file system in memory, for experiments
  rpcrdma serve --memory /scratch --memory-size 8GiB

  # The exports of a file; then a check of a new file
  rpcrdma serve --exports /etc/rpcrdma.exports --state /var/lib/rpcrdma
  rpcrdma serve --check --exports new.exports

  # For users with Kerberos tickets, encrypted if their clients can
  rpcrdma serve --export /home=/srv/home --sec krb5p:krb5i:krb5 --keytab /etc/rpcrdma.keytab

  # Read-only, everybody as user 1000
  rpcrdma serve --export /pub=/srv/pub --read-only --squash all --anonuid 1000 --anongid 1000`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UsageError{Err: fmt.Errorf("unknown argument %q: exports are named with --export and "+
					"--memory%s", args[0], daemon.DebugHint(cmd.Flags(), args[0]))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(cfg.check(), cfg.checkRule(cmd.Flags().Changed)); err != nil {
				return cli.UsageError{Err: err}
			}
			if cfg.onlyCheck {
				return checkExports(cmd.Context(), cfg, cmd.OutOrStdout())
			}
			log, end := cfg.logging.Start(cmd.ErrOrStderr())
			defer end()
			return Run(cmd.Context(), cfg, cmd.OutOrStdout(), log)
		},
	}
	cfg.addFlags(cmd)
	return cmd
}
