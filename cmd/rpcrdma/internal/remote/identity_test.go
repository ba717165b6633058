package remote

import (
	osuser "os/user"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// TestIdentity: with --uid, calls have the groups of that user, not of the process.
func TestIdentity(t *testing.T) {
	const unknown = 4294967000 // to this host
	tests := []struct {
		name  string
		named []string
		in    Identity
		want  Identity
	}{
		{"nothing said", nil, Identity{UID: 0, gid: 0, Gids: groupsFlag{7}}, Identity{UID: 0, gid: 0, Gids: groupsFlag{7}}},
		{"groups alone", []string{"groups"}, Identity{UID: 0, gid: 0, Gids: groupsFlag{9}}, Identity{UID: 0, gid: 0, Gids: groupsFlag{9}}},
		{"unknown user", []string{"uid"}, Identity{UID: unknown, gid: 0, Gids: groupsFlag{7}}, Identity{UID: unknown, gid: nfsserver.Nobody}},
		{"with a group", []string{"uid", "gid"}, Identity{UID: unknown, gid: 5, Gids: groupsFlag{7}}, Identity{UID: unknown, gid: 5}},
		{"with groups", []string{"uid", "groups"}, Identity{UID: unknown, gid: 0, Gids: groupsFlag{7}}, Identity{UID: unknown, gid: nfsserver.Nobody, Gids: groupsFlag{7}}},
	}
	for _, tt := range tests {
		err := tt.in.Become(func(flag string) bool { return slices.Contains(tt.named, flag) })
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if d := cmp.Diff(tt.want, tt.in, cmp.AllowUnexported(Identity{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// TestIdentityKnown: --uid of a user of this host takes that user's group.
func TestIdentityKnown(t *testing.T) {
	u, err := osuser.Current()
	if err != nil {
		t.Skipf("who runs this is not known: %v", err)
	}
	var id Identity
	if err := id.UID.Set(u.Uid); err != nil {
		t.Skipf("users have no numbers here: %v", err)
	}
	if err := id.Become(func(flag string) bool { return flag == "uid" }); err != nil {
		t.Fatal(err)
	}
	if got := id.gid.String(); got != u.Gid {
		t.Errorf("got group %s, want %s", got, u.Gid)
	}
}
