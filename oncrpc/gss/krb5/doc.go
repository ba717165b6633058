// Package krb5 is the Kerberos 5 mechanism of the GSS-API (RFC 4121) for package gss. A server
// makes an [Acceptor] from a keytab, which has its principal's keys, "nfs/server.example.org". A
// client makes an [Initiator] from the credential cache that kinit has filled, or from a keytab of
// its own, and calls services by their names, "nfs@server.example.org". It finds realms and KDCs in
// krb5.conf.
//
// Encryption types are those of AES (RFC 3962, RFC 8009). SPNEGO and delegation are left out, and
// so is everything that RPCSEC_GSS has no use for: channel bindings, numbered tokens, and tokens
// with both text and checksum.
package krb5
