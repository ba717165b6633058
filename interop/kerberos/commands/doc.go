// Package commands has rpcrdma serve, gateway and the commands on files prove to each other who
// they are, by tickets of MIT's KDC, over RDMA and over TCP. The tests have the build tag interop,
// and need Debian's krb5-kdc, krb5-admin-server and krb5-user. They need no
// root, except TestDocumented.
package commands
