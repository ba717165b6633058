// Package gss is RPCSEC_GSS version 1 (RFC 2203): callers prove who they are, and arguments and
// results have a checksum, or are encrypted. A [ClientFlavor] is for oncrpc.NewClient, a
// [ServerFlavor] for oncrpc.ServerConfig.Flavors. Both run over any transport. What proves and
// protects is a mechanism of the GSS-API, as package krb5.
package gss
