// Package cm is the wire format of InfiniBand's communication management (IBTA volume 1 chapters 12
// and 13), as RoCE has it: management datagrams (MADs) of 256 bytes to queue pair 1, by which a
// connection is asked for, made and ended.
//
// A [REQ] asks for a connection, a [REP] grants it, a [RTU] says that the grant has come; a [REJ]
// refuses, a [MRA] asks for patience. A [DREQ] ends a connection, which a [DREP] confirms. [Parse]
// decodes any of them, and [Append] encodes it.
//
// Annex A11 has applications dial by IP address and port: [ServiceID] is the name of a port, and a
// REQ's private data begins with [IP], the addresses.
package cm
