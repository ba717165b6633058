package main

import (
	"fmt"
	"os"
	osuser "os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// identity is who calls, as the server is told.
type identity struct {
	uid  userFlag
	gid  groupFlag
	gids groupsFlag
}

// ownIdentity is that of the user who runs this: nobody where users have no numbers. Of more than 16 groups the server is told the first.
func ownIdentity() identity {
	id := identity{uid: nfsserver.Nobody, gid: nfsserver.Nobody}
	uid, gid := os.Getuid(), os.Getgid()
	if uid < 0 || gid < 0 {
		return id
	}
	id.uid, id.gid = userFlag(uid), groupFlag(gid)
	groups, _ := os.Getgroups()
	for _, g := range groups {
		if g != gid && len(id.gids) < oncrpc.MaxGIDs {
			id.gids = append(id.gids, uint32(g))
		}
	}
	return id
}

// become fills in what the command line does not say of another user: his groups as this host knows them, or else nobody's. The groups of who
// runs this would be more than he has.
func (id *identity) become(named func(flag string) bool) {
	if !named("uid") {
		return
	}
	gid, gids := groupsOf(id.uid)
	if !named("gid") {
		id.gid = gid
	}
	if !named("groups") {
		id.gids = gids
	}
}

// groupsOf returns the groups of a user of this host.
func groupsOf(uid userFlag) (gid groupFlag, gids groupsFlag) {
	gid = nfsserver.Nobody
	u, err := osuser.LookupId(uid.String())
	if err != nil || gid.Set(u.Gid) != nil {
		return gid, nil
	}
	further, _ := u.GroupIds()
	further = slices.DeleteFunc(further, func(g string) bool { return g == u.Gid })
	_ = gids.Set(strings.Join(further[:min(len(further), oncrpc.MaxGIDs)], ","))
	return gid, gids
}

// cred is the identity as calls carry it.
func (id *identity) cred() (oncrpc.ClientFlavor, error) {
	host, _ := os.Hostname()
	return oncrpc.AuthSys(oncrpc.SysCred{
		Machine: host[:min(len(host), oncrpc.MaxMachineName)],
		UID:     uint32(id.uid),
		GID:     uint32(id.gid),
		GIDs:    id.gids,
	})
}

// groupsFlag is numbers of groups.
type groupsFlag []uint32

// Set takes numbers with commas between them, or nothing.
func (f *groupsFlag) Set(s string) error {
	var list groupsFlag
	if s != "" {
		for _, word := range strings.Split(s, ",") {
			n, err := parseID(word)
			if err != nil {
				return fmt.Errorf("%w, or several with commas between them", err)
			}
			if !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
	}
	if len(list) > oncrpc.MaxGIDs {
		return fmt.Errorf("calls have room for %d groups", oncrpc.MaxGIDs)
	}
	*f = list
	return nil
}

// String returns the numbers.
func (f *groupsFlag) String() string {
	var words []string
	for _, n := range *f {
		words = append(words, strconv.FormatUint(uint64(n), 10))
	}
	return strings.Join(words, ",")
}

// Type names the value in the usage.
func (f *groupsFlag) Type() string { return "IDS" }
