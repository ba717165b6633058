package nfsmount

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// DefaultPort is the last TCP port where MOUNT is looked for: IANA's "mountd".
const DefaultPort = 20048

const (
	// stepTime is how long each place has to show that MOUNT is there.
	stepTime = 5 * time.Second
	// callTime is how long MOUNT has to answer a call. It may look up the caller's host name.
	callTime = time.Minute
	// maxGuesses bounds the directories that are tried if no listed export contains the path.
	maxGuesses = 32
)

// Config says where to look for MOUNT, and how to call it.
type Config struct {
	// Host is the name or address of the server, for rpcbind and for MOUNT over TCP. If it is "",
	// MOUNT is only looked for on the connection to the NFS server.
	Host string
	// Port is the TCP port of MOUNT. 0 means to find it.
	Port int
	// Flavor is the flavour of calls of MOUNT; nil means AUTH_NONE.
	Flavor oncrpc.ClientFlavor
	// Flavors are the flavours that the caller can use for calls of NFS. Root.Flavor is the one to
	// use. None means that of Flavor, which must not be RPCSEC_GSS then, because that has several
	// pseudo flavours.
	Flavors []mount3.Flavor
	// Dial connects to MOUNT and rpcbind over TCP. addr has a port. Nil means package recordmark;
	// MOUNT is then called from a port below 1024 if the process may use one.
	Dial func(ctx context.Context, addr string) (oncrpc.Transport, error)
	// Wrap, if set, is recordmark.Config.Wrap of the connections that are made if Dial is nil.
	Wrap func(net.Conn) net.Conn
}

func (c *Config) flavors() []mount3.Flavor {
	switch {
	case len(c.Flavors) > 0:
		return c.Flavors
	case c.Flavor == nil:
		return []mount3.Flavor{mount3.FlavorNone}
	}
	return []mount3.Flavor{mount3.Flavor(c.Flavor.Flavor())}
}

// addr returns the host with a port.
func (c *Config) addr(port int) string { return net.JoinHostPort(c.Host, strconv.Itoa(port)) }

// dial connects over TCP within stepTime.
func (c *Config) dial(ctx context.Context, addr string, privileged bool) (oncrpc.Transport, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	if c.Dial != nil {
		return c.Dial(ctx, addr)
	}
	if privileged {
		conn, err := recordmark.DialPrivileged(ctx, addr, recordmark.Config{Wrap: c.Wrap})
		if err == nil {
			return conn, nil
		}
		if !errors.Is(err, recordmark.ErrNoPrivilegedPort) {
			return nil, err
		}
	}
	conn, err := recordmark.Dial(ctx, addr, recordmark.Config{Wrap: c.Wrap})
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// end closes a connection, and waits until it is gone.
func end(t oncrpc.Transport) {
	t.Close()
	<-t.Done()
}
