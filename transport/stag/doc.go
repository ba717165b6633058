// Package stag is the table of steering tags of one endpoint: which windows of local
// memory the peer can reach, and the copies between those windows and other memory (RFC
// 5041 section 5.2; RFC 5042 on why tags and offsets are unpredictable).
//
// A software provider implements the memory half of package transport's contract with it. Each
// endpoint has a [Table]. Expose, Revoke and Abandon of the endpoint call those of the Table;
// transport.OpInvalidate is [Table.End]. What the peer asks for is checked by the same call that
// carries it out: [Table.Write] or [Table.Place] for an RDMA Write, [Table.Read] for an RDMA Read,
// [Table.Invalidate] for a Send with Invalidate. Each fails with a bare sentinel of package
// transport, ErrSTag, ErrAccess or ErrBounds, which the provider wraps.
//
// Whoever ends a window waits for copies under way, and only for those. A provider that
// refers to the memory of a window for longer, because its network takes it later, holds
// a [Pin] meanwhile, and lets go when the table says so (New). One that lets its network
// fill the memory has it on [Loan].
package stag
