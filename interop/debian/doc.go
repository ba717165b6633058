// Package debian builds the Debian package, installs it on this host, runs its services as systemd
// would, upgrades it while a client is at work, and removes it. The tests have the build tag
// interop, and need root, dpkg, setpriv, groff and systemd-analyze; systemd itself does not have to
// run.
package debian
