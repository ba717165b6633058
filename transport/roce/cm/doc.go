// Package cm encodes and decodes messages of InfiniBand's communication management (IBTA volume 1
// chapters 12 and 13), as RoCE uses it. They set up and end connections, in management datagrams
// (MADs) of 256 bytes to queue pair 1:
//
//	req := &cm.REQ{CommID: 1, ServiceID: cm.ServiceID(20049), QP: 17, MTU: cm.MTUOf(1024)}
//	mad := cm.Append(nil, req, transaction)
//
//	m, transaction, err := cm.Parse(mad) // m is a *cm.REQ
//
// A [REQ] asks for a connection, a [REP] grants it, and an [RTU] confirms the grant. A [REJ]
// refuses; an [MRA] asks for patience. A [DREQ] ends a connection, and a [DREP] confirms the end.
//
// Applications dial by IP address and port (annex A11). [ServiceID] makes a service id from a port,
// and the private data of a REQ begins with the addresses, an [IP].
//
// Parse fails with [ErrLength], [ErrClass] or [ErrUnknown]. It does not check the values of fields.
package cm
