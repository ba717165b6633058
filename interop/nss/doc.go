// Package nss tests that a build of our server without cgo knows users whom only a module of
// glibc's Name Service Switch knows.
//
//	go test -tags interop ./interop/nss
//
// The module is extrausers, of Debian's package libnss-extrausers. The tests need root: they run in
// a mount namespace with an nsswitch.conf and users of their own, and change nothing on the host.
package nss
