package remote

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Denied continues "permission denied" with the user who was refused.
func (id *Identity) Denied() string {
	if id.UID == 0 {
		return " to user 0, whom many servers take for nobody: use --uid to call as another user"
	}
	return fmt.Sprintf(" to user %d", id.UID)
}

// Identity is who calls: the user and the groups that calls name, or a Kerberos principal.
type Identity struct {
	UID  cli.UserFlag
	gid  cli.GroupFlag
	Gids groupsFlag
	// Kerberos is who calls if the server wants proof.
	Kerberos *Kerberos
}

// OwnIdentity is the user of this process, with the first 16 groups. It is nobody on systems where
// users have no numbers.
func OwnIdentity() Identity {
	id := Identity{UID: nfsserver.Nobody, gid: nfsserver.Nobody, Kerberos: new(Kerberos)}
	uid, gid := os.Getuid(), os.Getgid()
	if uid < 0 || gid < 0 {
		return id
	}
	id.UID, id.gid = cli.UserFlag(uid), cli.GroupFlag(gid)
	groups, _ := os.Getgroups()
	for _, g := range groups {
		if g != gid && len(id.Gids) < oncrpc.MaxGIDs {
			id.Gids = append(id.Gids, uint32(g))
		}
	}
	return id
}

// Become completes the identity if --uid is given: it takes that user's groups on this host, or
// nobody's, instead of those of this process, which the user may not have. It fails if they cannot
// be looked up.
func (id *Identity) Become(named func(flag string) bool) error {
	if !named("uid") || named("gid") && named("groups") {
		return nil
	}
	groups, err := users.Host().Groups(uint32(id.UID))
	if errors.Is(err, users.ErrUnknown) {
		groups, err = []uint32{nfsserver.Nobody}, nil
	}
	if err != nil {
		return fmt.Errorf("the groups of user %d cannot be looked up: %w: "+
			"name them with --gid and --groups", id.UID, err)
	}
	if !named("gid") {
		id.gid = cli.GroupFlag(groups[0])
	}
	if !named("groups") {
		id.Gids = append(groupsFlag(nil), groups[1:min(len(groups), oncrpc.MaxGIDs+1)]...)
	}
	return nil
}

// Cred returns the AUTH_SYS flavour of the identity.
func (id *Identity) Cred() (oncrpc.ClientFlavor, error) {
	host, _ := os.Hostname()
	return oncrpc.AuthSys(oncrpc.SysCred{
		Machine: host[:min(len(host), oncrpc.MaxMachineName)],
		UID:     uint32(id.UID),
		GID:     uint32(id.gid),
		GIDs:    id.Gids,
	})
}

// groupsFlag is a list of group numbers.
type groupsFlag []uint32

// Set takes comma-separated numbers or names, or an empty string.
func (f *groupsFlag) Set(s string) error {
	var list groupsFlag
	if s != "" {
		for _, word := range strings.Split(s, ",") {
			var n cli.GroupFlag
			if err := n.Set(word); err != nil {
				return fmt.Errorf("%s: %w, or several, separated by commas", cli.Printable(word), err)
			}
			if !slices.Contains(list, uint32(n)) {
				list = append(list, uint32(n))
			}
		}
	}
	if len(list) > oncrpc.MaxGIDs {
		return fmt.Errorf("a call has room for %d groups", oncrpc.MaxGIDs)
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
