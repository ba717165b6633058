// Package nfsserver is an NFS version 3 server (RFC 1813) with its MOUNT program. It serves file
// systems that implement package vfs. It provides the two RPC programs, with all their procedures;
// an oncrpc.Server runs them over any transport:
//
//	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{
//		Path: "/export",
//		FS:   fs, // from memfs, dirfs or iofs, or your own
//		Rules: []nfsserver.Rule{{Clients: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}},
//	}}})
//	...
//	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
//	srv.Handle(nfs.Programs()...)
//	err = rpcrdma.Serve(ctx, listener, srv, rpcrdma.Config{})
//
// The rules of an [Export] say which hosts may use it, as which user, and whether they may change
// files. MNT checks them, and every NFS call checks them again, because a client may have got a
// handle from elsewhere. A file that the rules do not allow is nfs3.ErrAcces, a change of a
// read-only export nfs3.ErrROFS.
//
// [Server.SetExports] changes the exports of a running server. The examples of package nfsdemo are
// complete servers.
package nfsserver
