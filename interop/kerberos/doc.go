// Package kerberos has contexts of package krb5 made with MIT's KDC and MIT's library at the other
// end. The tests have the build tag interop, and need Debian's krb5-kdc, krb5-admin-server,
// krb5-user, libkrb5-dev, faketime and gcc. They take no root.
package kerberos
