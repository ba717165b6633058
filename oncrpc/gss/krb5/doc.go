// Package krb5 is the Kerberos 5 mechanism of the GSS-API (RFC 4121) for package gss.
//
// A server makes an [Acceptor] from a keytab with its principal's keys, "nfs/server.example.org":
//
//	acceptor, err := krb5.NewAcceptor(krb5.AcceptorConfig{Keytab: "/etc/krb5.keytab"})
//	flavor := gss.NewServerFlavor(gss.ServerConfig{Acceptor: acceptor})
//
// A client makes an [Initiator] from the credential cache that kinit fills, or from a keytab of its
// own. It names services like "nfs@server.example.org", and finds realms and KDCs in krb5.conf:
//
//	initiator, err := krb5.NewInitiator(krb5.InitiatorConfig{})
//	flavor := gss.NewClientFlavor(gss.ClientConfig{
//		Initiator: initiator, Target: "nfs@server.example.org", Service: gss.Privacy,
//	})
//
// The examples of Acceptor and Initiator are complete. An error of Kerberos is a
// [*gss.StatusError]. Its text says what to do about it.
//
// Only the encryption types with AES are supported (RFC 3962, RFC 8009). SPNEGO and delegation are
// not. Neither is what RPCSEC_GSS does not use: channel bindings, sequence checks of tokens, and
// tokens with both text and checksum.
package krb5
