// Package gsstest tests package gss and its mechanisms: [Run] is the suite that each of them
// passes, and [Mechanism] one that needs neither a realm nor a server.
package gsstest
