// Package kerberos tests package krb5 against MIT's KDC and MIT's library: it makes security
// contexts in both roles.
//
//	go test -tags interop ./interop/kerberos
//
// The tests need Debian's krb5-kdc, krb5-admin-server, krb5-user, libkrb5-dev, faketime and gcc,
// but not root. interop/README.md lists them.
package kerberos
