// Package exports reads export rules in the format of Linux's /etc/exports, exports(5), as far as
// it applies to this NFS server. [Parse] reads a file, and [Export.Rules] returns the rules of an
// export for package nfsserver.
//
//	list, err := exports.Parse(file)
//	...
//	for i := range list {
//		rules, err := list[i].Rules(ctx, net.DefaultResolver)
//		...
//	}
//
// A file looks like this:
//
//	# path, then clients with options
//	/srv/data    192.0.2.0/24(rw,no_root_squash) build.example.com(rw) *(ro)
//	/srv/home    -rw,anonuid=1000,anongid=1000  10.0.0.0/8 2001:db8::/32(ro)
//	/srv/secret  *(sec=krb5p:krb5i,rw,sec=sys,ro,all_squash)
//	/scratch     *(rw,memory)
//
// A line has a path and clients. A client is an address, a network (192.0.2.0/24,
// 192.0.2.0/255.255.255.0), a host name, or *. Its options follow in parentheses, without a space.
// Options after a dash apply to the clients that follow on the line. A later dash adds options to
// these. A path without clients, and options without a client, apply to all.
// Words may have quoted parts, and octal escapes such as \040. A backslash at the end continues the
// line, but not a comment, which begins with # where a word could.
//
// Files are read as exportfs reads them; its answers to odd files are in testdata. Where exportfs
// skips a part of the file, or exports to everybody although no line says so, Parse returns an
// error. One thing differs: exportfs reads no further than an empty line that ends in CR LF.
//
// As on Linux, the most specific client that a peer matches applies: hosts before networks, and
// networks before all. Among equals it is the first. All of 127.0.0.0/8 is one address.
// [Export.Warnings] name clients that never apply, and options that a blank parts from their
// client.
//
// # Options
//
//   - ro (the default), rw
//   - root_squash (the default), no_root_squash, all_squash, no_all_squash
//   - anonuid=UID, anongid=GID
//   - secure (the default), insecure: whether peers must use a port below 1024
//   - mp, mountpoint, mp=PATH: export only while something is mounted there
//   - nocrossmnt (the default), crossmnt: whether clients may enter what is mounted below, which is
//     the same for all clients of a path
//   - memory: a file system in memory; Linux does not have this
//   - sec=FLAVOUR:...: the flavours of calls, the preferred one first
//
// The flavours are sys (AUTH_SYS: callers say who they are), krb5 (RPCSEC_GSS with Kerberos), krb5i
// (with checksums of the data), krb5p (with encryption), and none (AUTH_NONE). The default is sys
// and none. A list of options may have several sec=. The options ro, rw, root_squash,
// no_root_squash, all_squash and no_all_squash apply to the flavours of the last sec= before them,
// or to all flavours if there is none. Linux applies them to the flavours behind that sec=, too,
// which exports(5) does not say. The flavours of a client replace those after a dash; on Linux they
// are added. With all_squash, root_squash and no_root_squash change nothing.
//
// These options are accepted and change nothing: sync (all that NFS calls stable is on stable
// storage), subtree_check, no_subtree_check, wdelay, no_wdelay, fsid=VALUE, hide, nohide, acl,
// no_auth_nlm and insecure_locks (there is no locking), and no_pnfs.
//
// All other options are an [Error] with the line, because they promise what the server does not do.
// So are async, which would lose data, and wildcards in names and netgroups, which trust the names
// that clients claim.
package exports
