// Package gss benchmarks NFS with Kerberos. It has scenarios for package paired: NULL, and READ and
// WRITE of 4 KiB and 1 MiB, with krb5, krb5i and krb5p, over TCP and over RDMA. The yardstick is
// the same call with AUTH_SYS over the same transport.
//
// READ of 1 MiB with krb5p is also compared with the speed of AES and SHA alone (Crypto).
//
//	go test -run '^$' -bench Paired -benchtime 1x ./bench/gss
//
// It needs no KDC: internal/testrealm makes the credentials. Package env has the variables, and
// docs/performance.md the results.
package gss
