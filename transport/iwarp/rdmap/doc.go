// Package rdmap is the wire format of the Remote Direct Memory Access Protocol
// (RFC 5040): the control octet that names an operation, the headers of Read
// Request and Terminate, and the error codes that a Terminate carries for all
// layers. A segment's DDP header, package ddp, goes in front.
package rdmap
