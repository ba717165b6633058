// Package mount3 has the wire types of MOUNT version 3 (RFC 1813 appendix I), the protocol by which
// an NFS client gets the handle of an export. Packages nfsserver and nfsclient use it:
//
//	var res mount3.MntRes
//	c := oncrpc.NewClient(conn, mount3.Program, mount3.Version, cred)
//	err := c.Do(ctx, &oncrpc.Request{
//		Procedure: uint32(mount3.ProcMnt), Args: &mount3.MntArgs{Path: "/export"},
//		Reply: &res, MaxReply: mount3.ProcMnt.Info().MaxReply,
//	})
//	// res.Status is mount3.OK, or an error; res.Root is the handle.
//
// A [Status] other than OK is an error; errors.Is finds fs.ErrNotExist and the like in it. It also
// has the security flavours of exports ([Flavor]).
package mount3
