// Package gsstest tests mechanisms for package gss. [Run] is a suite that every mechanism, and
// package gss itself, must pass:
//
//	func TestMechanism(t *testing.T) {
//		gsstest.Run(t, func(t *testing.T) gsstest.Ends { return newEnds(t) })
//	}
//
// [Mechanism] is a mechanism for tests of other packages. It needs neither a realm nor a server,
// only a shared secret.
package gsstest
