// Package rdmap encodes and decodes the headers of the Remote Direct Memory Access Protocol (RFC
// 5040): the control octet that names an operation, Read Requests, Terminate messages, and the
// error codes that a Terminate carries for all layers.
//
// Each of these follows, or is part of, the DDP header of a segment (package ddp):
//
//	h := ddp.Header{Queue: ddp.QueueReadRequest, MSN: 1, Last: true, Version: ddp.Version}
//	h.Control = rdmap.Control(ddp.Version, rdmap.OpReadRequest)
//	req := rdmap.ReadRequest{SinkSTag: sink, Len: 4096, SourceSTag: source}
//	segment := req.Append(h.Append(nil))
//
// The package example answers such a request with a Terminate.
//
// [TerminateForSegment] builds the Terminate that answers a bad segment. [ParseTerminate] also
// understands the forms that Linux's siw and draft-ietf-storm-mpa-peer-connect-05 use.
// [Terminate.Err] turns one into an [Error], which wraps the error of package transport with the
// same meaning.
//
// The parsers fail only with [ErrShort]. They ignore reserved bits.
package rdmap
