// Package matrix is a table of RPC calls that covers every way in which RPC-over-RDMA can carry a
// message: inline, padded, by read chunk, write chunk or reply chunk, at position zero,
// combinations of these, and lengths around every limit.
//
// Each [Cell] gives a call, the configuration of both ends, and the messages expected on the wire
// in each [rpcrdma.Dialect]:
//
//	for _, cell := range matrix.Cells() {
//		outcome, err := cell.Run(ctx, rpcrdma.RFC8166, listener, dialer)
//		want := cell.Dialect(rpcrdma.RFC8166)
//		... // compare what was on the wire, and outcome.Err, with want
//	}
//
// The tests of this package run the cells over every provider. They decode each message with a
// decoder that was written from the specifications alone and shares no code with packages rpcrdma,
// chunks and xdr. Other packages can run the cells over their own providers, or while they record
// the traffic.
package matrix
