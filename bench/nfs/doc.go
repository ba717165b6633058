// Package nfs has benchmark scenarios for NFS over RDMA, on any provider of the transport contract:
// READ and WRITE, NULL and GETATTR, one at a time and many in flight. The client is nfsclient, the
// server nfsserver with a memfs, both as anybody would set them up. The yardsticks are in
// bench/paired: raw TCP request and response of the same shape, written by hand.
//
// What both have in common, so that a ratio says something about the layers alone: each call in
// flight has memory of its own, at the client a buffer, at the server as much of one file, and uses
// it again in every call. So both go round the same number of bytes, 1 MiB or 4 of them at either
// end. A WRITE is the exception: memfs takes new pages for it and frees the old ones, so that
// readers see all of a WRITE or nothing, and goes round one transfer more.
//
// Nothing here allocates after the setup.
//
//	go test -run '^$' -bench Paired -benchtime 1x ./bench/nfs
package nfs
