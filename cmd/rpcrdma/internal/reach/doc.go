// Package reach leads from a URL to a connection. [ParseTarget] parses the URL, [Target.Found] asks
// rpcbind for the port if the URL names none, and [Target.Dialer] returns the dialer of the URL's
// provider.
//
//	t, err := reach.ParseTarget("rdma://server/export?rpcbind")
//	t, err = t.Found(ctx, low, cfg)
//	conn, err := reach.DialOverRDMA(ctx, t, low, cfg, cred)
//
// The package also has the flags that belong to connections: CRC32C, the dialect, TLS and traces.
package reach
