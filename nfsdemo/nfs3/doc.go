// Package nfs3 has the wire types of NFS version 3 (RFC 1813): constants, and the arguments and
// results of each procedure, which encode and decode themselves for clients and servers. Packages
// nfsserver, nfsclient and vfs use them:
//
//	var res nfs3.GetAttrRes
//	c := oncrpc.NewClient(conn, nfs3.Program, nfs3.Version, cred)
//	err := c.Do(ctx, &oncrpc.Request{
//		Procedure: uint32(nfs3.ProcGetAttr), Args: &nfs3.GetAttrArgs{File: h},
//		Reply: &res, MaxReply: nfs3.GetAttrResMax,
//	})
//	// res.Status is nfs3.OK, or an error; res.Attr has the attributes.
//
// Names are those of the RFC without the suffix 3. Times are seconds and nanoseconds since 1970
// UTC; lengths and offsets are in bytes. A [Status] other than OK is an error; errors.Is finds
// fs.ErrNotExist and the like in it.
//
// The data of READ and WRITE is encoded and decoded by reference (xdr.Bulk), so a transport can
// move it separately. RFC 8267 allows that for these, and for the paths of READLINK and SYMLINK.
package nfs3
