// Package stag is the memory of a software provider: the table of steering tags, which are the
// windows of local memory that a peer can reach, and the checks and copies for what the peer does
// with them (RFC 5041 section 5.2).
//
// Each endpoint of the provider has a [Table]:
//
//	table := stag.New(1024, nil)
//	region, err := table.Expose(list, access)
//	table.Revoke(region)
//	table.Abandon(region)
//	table.End(wr.Invalidate)                            // OpInvalidate
//
//	err = table.Write(remote.STag, remote.Offset, data) // the peer's RDMA Write
//	err = table.Read(dst, remote.STag, remote.Offset)   // the peer's RDMA Read
//	err = table.Invalidate(tag)                         // the peer's Send with Invalidate
//
// [Windows] are the methods of an endpoint with a table. [Heap] is memory for it. The example in
// package transport is a whole provider with all of these.
//
// What the peer asks for is checked and carried out in one call. It fails with transport.ErrSTag,
// ErrAccess or ErrBounds, which the provider wraps in its own error. Tags and offsets are
// unpredictable (RFC 5042).
//
// Ending a window waits for copies under way in that window, and for nothing else. A provider whose
// network refers to the memory of a window for longer holds a [Pin], and gives it back when the
// table asks for it (see [New]). A provider whose network writes into the memory directly takes it
// on [Loan].
//
// A table has at most [MaxTags] tags.
package stag
