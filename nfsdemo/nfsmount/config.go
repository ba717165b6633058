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

// DefaultPort is where MOUNT is looked for last: IANA's "mountd".
const DefaultPort = 20048

const (
	// stepTime is how long each place may take to show that MOUNT is there, or where.
	stepTime = 5 * time.Second
	// callTime is how long the program may take to answer: it may look up the caller's name.
	callTime = time.Minute
	// maxGuesses bounds the directories that are tried where no list of exports says which.
	maxGuesses = 32
)

// Config says where to look.
type Config struct {
	// Host is the server's name or address, for rpcbind and for MOUNT over TCP. Without, MOUNT is
	// looked for on the connection to the NFS server alone.
	Host string
	// Port is that of MOUNT over TCP; 0: find it.
	Port int
	// Flavor is the flavour of the calls of MOUNT; nil is AUTH_NONE.
	Flavor oncrpc.ClientFlavor
	// Flavors are those that calls of NFS can have, of which the server chooses (Root.Flavor). None
	// is that of Flavor, which must not be RPCSEC_GSS then: its pseudo flavours are many.
	Flavors []mount3.Flavor
	// Dial connects to MOUNT and to rpcbind, over TCP, at an address with a port; nil means by
	// package recordmark, to MOUNT from a port below 1024 if the process may have one.
	Dial func(ctx context.Context, addr string) (oncrpc.Transport, error)
	// Wrap, if set, is recordmark.Config.Wrap of the connections that are made without Dial.
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

// addr is a port of the host.
func (c *Config) addr(port int) string { return net.JoinHostPort(c.Host, strconv.Itoa(port)) }

// dial connects over TCP within the time of a step.
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

// end closes a connection, and waits until nothing of it is left.
func end(t oncrpc.Transport) {
	t.Close()
	<-t.Done()
}
