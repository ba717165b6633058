// Package gss has benchmark scenarios for NFS with Kerberos: NULL, READ and WRITE of 4 KiB and 1
// MiB with krb5, krb5i and krb5p, over TCP and over RDMA. The yardstick is the same with AUTH_SYS
// over the same transport. Contexts are made without a KDC (package testrealm), so anybody can run
// it.
//
// READ of 1 MiB with krb5p is also compared with what AES and SHA alone give (Crypto).
//
//	go test -run '^$' -bench Paired -benchtime 1x ./bench/gss
package gss
