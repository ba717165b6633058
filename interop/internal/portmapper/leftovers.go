package portmapper

import (
	"errors"
	"os"
)

// leftovers are the files that rpcbind leaves behind, including its warm start state.
var leftovers = []string{
	"/run/rpcbind.sock", "/run/rpcbind.lock", "/run/rpcbind/rpcbind.xdr", "/run/rpcbind/portmap.xdr",
}

// setAside moves away what an earlier rpcbind has left. restore puts it back, in place of what has
// been left since.
func setAside() (restore func(), err error) {
	const aside = ".aside"
	for _, name := range leftovers {
		if err := os.Rename(name, name+aside); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return func() {
		for _, name := range leftovers {
			_ = os.Remove(name) // may not exist
			_ = os.Rename(name+aside, name)
		}
	}, nil
}
