package serve

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
)

// NewCommand returns the command serve. Rpcbind is reached by dial.
func NewCommand(dial RPCBindDialer) *cobra.Command {
	cfg := NewConfig(dial)
	cmd := &cobra.Command{
		Use:   "serve {--export NAME=DIR | --memory NAME | --exports FILE}...",
		Short: "Export directories by NFS, over RDMA and TCP",
		Long: `Serve exports directories of this host, and file systems in memory, by NFS version 3: over
RDMA, by iWARP or RoCE in software, which need no RDMA hardware here, and over TCP. Linux mounts
them with the commands that serve prints when it is ready.

With --provider iwarp,roce clients reach the same port by either. For RoCE all packets go to UDP
port 4791, which one process of a host can have at an address, or the kernel's rdma_rxe. It needs
Linux, and that there is no NAT on the way. Without a host in --listen it is there at all addresses
that this host has at the start.

NAME is the absolute path by which clients mount an export: HOST:NAME. A directory keeps what
is written. What is mounted below DIR is not entered, be it another file system or a
subvolume of btrfs: export it by itself. A file system in memory is empty at first and gone
in the end; its root directory has mode 1777, like /tmp, so that everybody can make files
in it.

Callers are taken for the users that they say they are, except those that --squash names.
With root these are user 0, and group 0 of anybody: root of a client is nobody here. Backups
and installations need --squash none. Nothing is encrypted but with --sec krb5p and --tls-cert:
serve to networks that you trust, and name them with --allow. Run by root, files that clients
make in directories are theirs; else they belong to the user that runs serve, who must be
allowed what they do.

Of the flags, --read-only, --squash, --anonuid and --anongid are for all exports of the command
line, and for none of a file. Where there is only a file they are an error. The flag --sec is
for those of a file, too, unless a line has sec=; --allow is for all that there is.

With --sec krb5, krb5i, krb5p or several of them, callers prove by Kerberos who they are: with krb5
that alone, with krb5i and a checksum of all data, with krb5p and encrypted. It takes a keytab with
the keys of nfs/HOST, of which clients use HOST to mount (--keytab). Principals of the keytab's realm
are the users of this host with their names, alice@REALM alice; --realm names other realms, and
--map-users FILE has lines such as 'nfs/build.example.org@REALM build' or 'bob@OTHER 1002:100' for
others. With --exports, SIGHUP has that file read again, too. Who is no user is taken for the
anonymous one; the log says so. The server needs no krb5.conf.

Contexts are made over RDMA and over TCP. With Kerberos, NFS over TCP is at port 2049, too: Linux
makes its contexts for NFS over RDMA there, whatever its option port= says. A firewall has to let it
through, --mount must name no port but 20048 or 2049, and an nfsd or a gateway of this host must not
have it.

With --exports, FILE says what is exported and to whom, in the format of exports(5): each path
with its clients, and their options. SIGHUP has it read again: exports come, go and change under
clients that have mounted them. A file with an error changes nothing, and the log says why;
--check tries one out. Names of hosts are looked up then, too. A directory that is removed and
made again is served again, and one of which the file says mp when something is mounted there.
The option memory is for a file system in memory. As with Linux, only ports below 1024 may call
unless the file says insecure: mount without noresvport.

With --rpcbind, clients need to know fewer ports: no mountport, over TCP none at all, and
showmount -e and rpcinfo work. Over RDMA, Linux has to be told the port in any case. A host
can have one NFS server in rpcbind: one that answers stays, and serve fails; one that does
not is replaced.

Clients that know one port find the other, and the programs there, by asking it: both ports
answer the look-ups of rpcbind, whether --rpcbind is given or not. With --rdma-rpcbind so does
a further one, over RDMA, that knows nothing else: that of rpcbind is 111, which takes
privileges, and which iWARP can have where no rpcbind listens on it for TCP.

With --dialect draft, connections over RDMA keep to draft-ietf-nfsv4-rpcrdma-08, which came
before RFC 8166: for commands and gateways with --dialect draft. Linux mounts over TCP then.
In either dialect a client may ask by CONF_RDMA for other sizes of messages (rpcrdma conf).

With --config, a file has values for these flags under their names, such as listen = ":20049".
A flag that may be repeated takes a list: export = ["/a=/srv/a", "/b=/srv/b"]. What the command
line has of a flag replaces what the file has. The file is read once, at the start.

After a restart with the same --state, clients that have mounted a directory go on as if
nothing had happened. Without, they have to mount it again.

SIGTERM, SIGINT and, without --exports, SIGHUP end the server in order: it
takes no more calls, answers those under way, for up to 10 seconds, and exits with 0. Another
signal ends it at once if it comes more than a second after the first. Under nohup, SIGHUP does
nothing. It exits with 1 if something fails, such as a port that is taken, and with 2 if the
command line is wrong.`,
		Example: `  # A directory, for the hosts of one network; files survive, and so do mounts
  rpcrdma serve --export /data=/srv/data --allow 192.168.1.0/24 --state /var/lib/rpcrdma

  # A file system in memory, to try things with
  rpcrdma serve --memory /scratch --memory-size 8GiB

  # What a file says; then what another says
  rpcrdma serve --exports /etc/rpcrdma.exports --state /var/lib/rpcrdma
  rpcrdma serve --check --exports new.exports

  # For users with tickets of Kerberos, and encrypted if they can
  rpcrdma serve --export /home=/srv/home --sec krb5p:krb5i:krb5 --keytab /etc/rpcrdma.keytab

  # Read-only, everybody as user 1000, with large messages inline
  rpcrdma serve --export /pub=/srv/pub --read-only --squash all --anonuid 1000 --anongid 1000 --inline 64KiB`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UsageError{Err: fmt.Errorf("unknown argument %q: exports are named with --export and --memory%s", args[0], daemon.DebugHint(cmd.Flags(), args[0]))}
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
