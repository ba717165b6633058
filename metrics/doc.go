// Package metrics tells Prometheus what the layers of this module do: connections by provider and
// by how they ended, credits, calls by program, procedure and outcome with their latencies, bytes
// by the way that they travel, faults by reason, memory against its limits, and what is done with
// the exports of an NFS server.
//
// A program makes a [Metrics], registers it with Prometheus, and hands its parts to the layers that
// the program uses:
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
// There are metrics of a layer once its part has been asked for.
//
// # Names
//
// All names begin with rpcrdma_ and go on with the layer: iwarp, sctp, roce, rdma, tcp (RPC over
// TCP), redial, server and client (calls), gss (RPCSEC_GSS), nfs, gateway. Sizes are in bytes,
// times in seconds. No label has a value that a peer can choose: programs and procedures are those
// that the server has, and "other" stands for all others; exports are those of the configuration.
//
// Latencies are histograms with classic buckets and, where the scraper asks for them, native ones.
// At a server a latency is that of the execution: from when the call has been received, and its
// flavour accepted, until its handler has returned; the reply is sent later. At a client it is that
// of Client.Do, and at a gateway that of passing the call on, until its reply has come. Servers and
// clients do not time all of the calls that come in thousands: the help of the metric says which.
package metrics
