// Package commands tests Kerberos in the commands, with tickets of MIT's KDC, over RDMA and over
// TCP: rpcrdma serve, gateway, and the commands on files.
//
//	go test -tags interop ./interop/kerberos/commands
//
// The tests need Debian's krb5-kdc, krb5-admin-server and krb5-user. Only TestDocumented needs
// root.
package commands
