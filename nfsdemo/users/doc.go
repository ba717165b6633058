// Package users finds the users of this host for callers of an NFS server. It has the functions for
// nfsserver.Config: [Groups.Of] returns the groups of callers with AUTH_SYS, and [Principals.User]
// the users of callers with RPCSEC_GSS.
//
//	db := users.Host()
//	cfg := users.Config{Database: db, Realms: []string{"EXAMPLE.ORG"}}
//	principals, err := users.NewPrincipals(cfg)
//	...
//	nfs, err := nfsserver.New(nfsserver.Config{
//		Exports:  exports,
//		GSS:      true,
//		User:     principals.User,
//		Groups:   users.NewGroups(db, nil).Of,
//		Blocking: true,
//	})
//
// # Principals
//
// A Kerberos principal becomes a user in one of two ways:
//
//   - A [Map] has it.
//   - It is NAME@REALM, with a realm in Config.Realms and a user NAME in the database. So
//     "alice@EXAMPLE.ORG" is alice.
//
// Others are no user, unless a map has them: not "nfs/host.example.org@EXAMPLE.ORG", which is a
// machine, nor "alice/admin@EXAMPLE.ORG". The server squashes them.
//
// # Databases that fail
//
// Answers are kept for half an hour. That there is no such user is kept for a minute. A caller
// waits for a look-up for at most 5 seconds; the look-up then goes on in the background.
//
// Hosts share 64 look-ups, 8 of which ask the database at a time, and room for 16384 answers. An
// answer counts for each host that uses it, and stays while one does. A host that has some of these
// gets more only if it then has no more than remain free. If it may have no more answers, the one
// that it has not used for longest goes; if it may have no more look-ups, the look-up fails. A
// look-up costs its host as much as 200 calls, where hosts share the processors.
//
// If a look-up fails, the last answer holds, and the database is asked again after a minute. A user
// whom the database had, and now has not, is kept until the last answer is an hour old: the C
// library does not tell a source that is down from one that lacks the user. Without a last answer
// [Groups.Of] and [Principals.User] return an error, and the server has the client try again later.
// So nobody loses groups because a look-up fails.
package users
