// Package gateway lets clients that speak RPC over TCP use a server that speaks RPC over RDMA. The
// command "rpcrdma gateway" uses it.
//
//	g, err := gateway.New(gateway.Config{
//		Dial: func(ctx context.Context) (oncrpc.Transport, error) {
//			return rpcrdma.Dial(ctx, iwarp.Dialer{}, "server:20049", rpcrdma.Config{})
//		},
//	})
//	...
//	defer g.Close()
//	front := oncrpc.NewServer(oncrpc.ServerConfig{Forward: g.Forward})
//	err = recordmark.Serve(ctx, listener, front, recordmark.Config{})
//
// Each client connection gets its own connection to the server. When one of them ends, the gateway
// closes the other. The gateway passes on the calls of any program. Of NFS version 3 it knows which
// data may travel in chunks (RFC 8267).
//
// Config bounds the memory for replies. The gateway answers a call with SYSTEM_ERR if the transport
// to the server cannot carry the call or its reply. While the server cannot be reached, calls wait,
// for up to 5 minutes; then the gateway closes the client's connection.
package gateway
