// Package debian tests the Debian package: it builds it, installs it on this host, runs its
// services as systemd would, upgrades it while a client is at work, and removes it.
//
//	go test -tags interop ./interop/debian
//
// The tests need root, dpkg, setpriv, groff and systemd-analyze. systemd itself need not run.
package debian
