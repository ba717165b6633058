// Package openssl tests RPC over TLS (RFC 9289) against OpenSSL's commands. These do not know how
// RPC asks for TLS, so a relay asks for them.
//
//	go test -tags interop ./interop/openssl
//
// The tests need Debian's openssl.
package openssl
