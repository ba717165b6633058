// Package openssl has OpenSSL's commands do TLS with RPC over TCP (RFC 9289). They do not know how
// RPC asks for TLS, so a relay asks for them. The tests have the build tag interop, and need
// Debian's openssl.
package openssl
