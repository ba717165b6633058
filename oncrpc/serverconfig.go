package oncrpc

import (
	"fmt"
	"log/slog"
)

// ServerConfig configures a Server. The zero value is usable. NewServer panics if a field is out of
// range.
type ServerConfig struct {
	// Logger logs faults and failures; nil means slog.Default().
	Logger *slog.Logger
	// MaxConcurrent is the number of handlers that may run at the same time, 1 or more; 0 means
	// 256. NonBlocking handlers do not count. A handler that fetches arguments from its peer
	// (xdr.Bulk) gives up its place meanwhile, and waits for a place again afterwards. So while it
	// fetches, it must not hold a lock that other handlers wait for.
	//
	// Calls beyond the limit wait; the transports limit how many there can be. A free place goes to
	// the peer host (ConnInfo.Host) with the fewest running handlers. Calls of one host start in
	// the order of their arrival; handlers that have already started go first. With several shares
	// (Program.Share), each share gets at most three times as many places as are left free, and a
	// free place first goes to the share with the fewest running handlers.
	MaxConcurrent int
	// MaxConns is the number of connections that Serve functions keep open, over all listeners, 1
	// or more; 0 means 1024. A peer host (ConnInfo.Host) that has some gets another only if it then
	// has no more than remain free. So a single host can have half of them, and a new host always
	// finds some free. A connection that finds no place is closed or, over RDMA, rejected
	// (ErrTooManyConns).
	MaxConns int
	// ReplyMemory is the memory in bytes for replies of procedures marked Procedure.Once; 0 means
	// 16 MiB, and a negative value means that no replies are kept. A reply of NFS takes about 650
	// bytes; replies longer than 4 KiB are not kept. A reply is kept for two minutes, or
	// until memory runs out and its host (ConnInfo.Host) is the one that uses the most. Then the
	// oldest reply of that host's largest procedure goes first. 16 MiB hold the replies of 25,000
	// WRITEs of NFS: 25 s of 1 MiB each at 1 GiB/s.
	ReplyMemory int64
	// Forward, if set, gets the calls that are not for a registered program, undecoded: those of
	// other programs or RPC versions, and those too short to tell. Without Forward, they are
	// answered with an error. Forward must end each call with Reply or Drop, on any goroutine
	// (IncomingCall). Shutdown waits for that. Forward runs on the goroutine that received the call
	// and must not block. If it panics, the call is answered with SYSTEM_ERR, unless it has ended.
	Forward func(IncomingCall)
	// Admit, if set, is asked about each connection that a Serve function accepts, before the
	// connection gets memory and before it counts in MaxConns. An error refuses the connection: it
	// is closed, or rejected over RDMA, and the transport logs that at level DEBUG. Otherwise
	// release, unless nil, is called once, when the connection has ended or found no place. Admit
	// must be safe for concurrent use. It must not block, because other connections may wait behind
	// it.
	Admit func(c ConnInfo) (release func(), err error)
	// ConnBegan, if set, is called for each connection that the server begins to serve, before its
	// first call. That includes Transport.Serve. ConnEnded, if set, is called when the connection
	// has ended, with Transport.Err. After an orderly close by the peer, err wraps net.ErrClosed.
	// If the server stops serving a connection that goes on, err is nil. Handlers of the
	// connection's calls may still run then. Neither may block.
	ConnBegan func(t Transport)
	ConnEnded func(t Transport, err error)
	// Flavors are the accepted flavours; calls of others are denied with AUTH_BADCRED. Nil means
	// AcceptAuthNone, AcceptAuthSys and AcceptAuthTLS. A list that is not nil must name those as
	// well if they are wanted. No element may be nil. If two have the same number, the first
	// counts. Flavours of other packages may block, so their calls run on workers, NonBlocking or
	// not.
	Flavors []ServerFlavor
	// Interceptors run around the execution of each call, the first outermost. No element may be
	// nil.
	Interceptors []ServerInterceptor
}

// validate returns a *ConfigError if a field is out of range.
func (c *ServerConfig) validate() error {
	const config = "oncrpc.ServerConfig"
	if c.MaxConcurrent < 0 {
		return &ConfigError{config, "MaxConcurrent", c.MaxConcurrent, "0 or more"}
	}
	if c.MaxConns < 0 {
		return &ConfigError{config, "MaxConns", c.MaxConns, "1 or more, or 0 for the default"}
	}
	for i, f := range c.Flavors {
		if f == nil {
			return &ConfigError{config, fmt.Sprintf("Flavors[%d]", i), nil, "a flavour"}
		}
	}
	for i, f := range c.Interceptors {
		if f == nil {
			return &ConfigError{config, fmt.Sprintf("Interceptors[%d]", i), nil, "a function"}
		}
	}
	return nil
}
