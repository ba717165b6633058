package main

import (
	osuser "os/user"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// TestIdentity: whoever is called for has his own groups, not those of who calls.
func TestIdentity(t *testing.T) {
	const unknown = 4294967000 // to this host
	tests := []struct {
		name  string
		named []string
		in    identity
		want  identity
	}{
		{"nothing said", nil, identity{0, 0, groupsFlag{7}}, identity{0, 0, groupsFlag{7}}},
		{"groups alone", []string{"groups"}, identity{0, 0, groupsFlag{9}}, identity{0, 0, groupsFlag{9}}},
		{"unknown user", []string{"uid"}, identity{unknown, 0, groupsFlag{7}}, identity{unknown, nfsserver.Nobody, nil}},
		{"with a group", []string{"uid", "gid"}, identity{unknown, 5, groupsFlag{7}}, identity{unknown, 5, nil}},
		{"with groups", []string{"uid", "groups"}, identity{unknown, 0, groupsFlag{7}}, identity{unknown, nfsserver.Nobody, groupsFlag{7}}},
	}
	for _, tt := range tests {
		tt.in.become(func(flag string) bool { return slices.Contains(tt.named, flag) })
		if d := cmp.Diff(tt.want, tt.in, cmp.AllowUnexported(identity{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// TestIdentityKnown: a user of this host has the group that it says.
func TestIdentityKnown(t *testing.T) {
	u, err := osuser.Current()
	if err != nil {
		t.Skipf("who runs this is not known: %v", err)
	}
	var id identity
	if err := id.uid.Set(u.Uid); err != nil {
		t.Skipf("users have no numbers here: %v", err)
	}
	id.become(func(flag string) bool { return flag == "uid" })
	if got := id.gid.String(); got != u.Gid {
		t.Errorf("got group %s, want %s", got, u.Gid)
	}
}
