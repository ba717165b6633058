package nfsmount

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// lookUp asks rpcbind on the host for the TCP port of MOUNT.
func (c *Config) lookUp(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	conn, err := c.dial(ctx, c.addr(rpcbind.Port), false)
	if err != nil {
		return 0, err
	}
	defer end(conn)
	binder := rpcbind.NewClient(conn)
	port, err := binder.FindPort(ctx, mount3.Program, mount3.Version, rpcbind.NetidTCP)
	return int(port), err
}
