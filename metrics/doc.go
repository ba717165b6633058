// Package metrics exports counters of this module to Prometheus: connections, credits, RPC calls
// with outcomes and latencies, bytes by the way they travel, faults, memory and its limits, and NFS
// operations by export.
//
// Make a [Metrics], register it, and hand its parts to the layers that the program uses:
//
//	m := metrics.New()
//	prometheus.MustRegister(m)
//	srv := oncrpc.NewServer(oncrpc.ServerConfig{
//		Interceptors: []oncrpc.ServerInterceptor{m.ServeCall},
//	})
//	m.AddServer("main", srv)
//	l, err := iwarp.Listen(ctx, addr, iwarp.Config{Counters: m.IWARP()})
//	...
//	err = rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{Counters: m.RDMA()})
//
// A layer has metrics as soon as the program has asked for its part. The examples are complete
// programs; Example_interceptors has several interceptors.
//
// # Names
//
// Names begin with rpcrdma_ and the layer: iwarp, sctp, roce, rdma, tcp (RPC over TCP), redial,
// server and client (calls), gss (RPCSEC_GSS), nfs, gateway. Sizes are in bytes, times in seconds.
//
// A peer cannot make up values of labels. Programs and procedures are those that the server has;
// others count as "other". Exports are those of the configuration.
//
// # Latencies
//
// Latencies are histograms, with classic buckets, and native ones if the scraper asks for them. A
// server's latency is the execution: it begins when the call has been received and its flavour
// accepted, and ends when the handler returns, before the reply is sent. A client's latency is that
// of Client.Do. A gateway's ends when the server's reply has come. Servers and clients time only a
// sample of frequent calls; the help of the metric says which.
package metrics
