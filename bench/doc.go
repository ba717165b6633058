// Package bench measures every way for the payload of an RPC call to travel: inline, as a chunk, as
// a long message, over each provider, and over TCP. It then recommends inline sizes.
//
// The command "rpcrdma bench" is this package with flags, and package report shows its results:
//
//	rpcrdma bench                # 40 seconds, on this host
//	rpcrdma bench serve          # a server for another host, which runs
//	rpcrdma bench --server HOST
//
// In Go, [Run] measures a [Grid] of points, and [Conclude] adds the crossovers and the
// recommendation:
//
//	r, err := bench.Run(ctx, bench.Options{Grid: bench.QuickGrid(), Server: "HOST:PORT"})
//	if r != nil {
//		bench.Conclude(r)
//		fmt.Println(r.Advice.InlineSend, r.Advice.Why)
//	}
//
// docs/measuring.md explains the output, and docs/performance.md has this project's figures.
package bench
