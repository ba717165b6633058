// Package exports reads files in the format of Linux's /etc/exports, exports(5), as far as it
// applies to NFS version 3 here. [Parse] returns the exports of a file; [Export.Rules] turns what
// is said of one into rules of package nfsserver.
//
//	# path, then clients with options
//	/srv/data    192.0.2.0/24(rw,no_root_squash) build.example.com(rw) *(ro)
//	/srv/home    -rw,anonuid=1000,anongid=1000  10.0.0.0/8 2001:db8::/32(ro)
//	/srv/secret  *(sec=krb5p:krb5i,rw,sec=sys,ro,all_squash)
//	/scratch     *(rw,memory)
//
// A line has a path, which may be in quotes and have octal escapes such as \040, and clients: an
// address, a network (192.0.2.0/24, 192.0.2.0/255.255.255.0), the name of a host, or *. Options in
// brackets follow a client at once; those behind a dash are for the clients that follow on the
// line. A path without clients, and options without a client, are for all. Of the clients that a
// peer is among, hosts come before networks, and these before all; then the first one counts, as
// with Linux. A line that ends with a backslash goes on in the next; behind # there is a comment.
//
// # Options
//
// ro (the default), rw; root_squash (the default), no_root_squash, all_squash, no_all_squash;
// anonuid and anongid; secure (the default), insecure: whether peers must have a port below 1024;
// mp, mountpoint, or mp=PATH: exported only while something is mounted there; crossmnt: what is
// mounted below is entered; memory: a file system in memory, which is ours and not Linux's.
//
// sec=FLAVOUR:... are the flavours that calls may have, the preferred first: sys is AUTH_SYS, by
// which callers say who they are; krb5 is RPCSEC_GSS with Kerberos, krb5i with checksums over the
// data as well, krb5p with encryption of it; none is AUTH_NONE. Without sec= they are sys and none.
// Each list of options may have several. Of the options, ro, rw, root_squash, no_root_squash,
// all_squash and no_all_squash that follow a sec= are for its flavours alone; before the first one,
// they are for all. The flavours of a client replace those behind a dash; Linux adds them to these.
//
// These are taken and change nothing: sync (all that NFS calls stable is so), subtree_check and
// no_subtree_check, wdelay and no_wdelay, fsid=NUMBER, UUID or root, hide and nohide, acl,
// no_auth_nlm and insecure_locks (there is no locking).
//
// All else is an error that names the line, as it would be taken for more than it is: async, which
// would lose data; wildcards in names and netgroups, since they trust what clients say of their
// names.
package exports
