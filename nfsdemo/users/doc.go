// Package users finds out which users of this host callers of NFS are. It has the functions that
// nfsserver.Config asks for: [Groups.Of] for callers with AUTH_SYS, and [Principals.User] for those
// with RPCSEC_GSS.
//
//	db := users.Host()
//	cfg := users.Config{Database: db, Realms: []string{"EXAMPLE.ORG"}}
//	principals, err := users.NewPrincipals(cfg)
//	...
//	nfsserver.New(nfsserver.Config{
//		GSS: true, User: principals.User, Groups: users.NewGroups(db, nil).Of, ...,
//	})
//
// # Principals
//
// A principal of Kerberos is a user if a [Map] has it, or else if it has one component, its realm
// is among Config.Realms, and the user database has a user of that name: "alice@EXAMPLE.ORG" is
// alice. No users are "nfs/host.example.org@EXAMPLE.ORG", which is a machine, and
// "alice/admin@EXAMPLE.ORG", unless the map has them. A server squashes who is none.
//
// # Databases that are slow
//
// What a database says is kept for half an hour, that it does not know somebody for a minute, and
// so for 4096 at most. A look-up that takes longer than 5 seconds fails for who waits for it, and
// goes on; there are 64 at most.
package users
