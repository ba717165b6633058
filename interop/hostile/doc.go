// Package hostile tests what bad clients can do to a server and to its other clients.
//
// It has tests alone. An attack is a row of a table (attacks_*_test.go): what one host does to the
// server, on so many connections, and which threat of RFC 5042 or RFC 8166 section 8 that is. The
// bystanders are good clients on other hosts, over RDMA and over TCP. What counts is how they fare:
// docs/security-bounds.md says what they may expect, threat by threat.
//
// TestBystander has all attacks in virtual time, where nothing but the server's own decisions makes
// anybody wait. TestServe has them by sockets, with the server in a process of its own, whose
// memory is measured; with -figures it prints the tables of docs/security-bounds.md.
//
// The tests of RPCSEC_GSS (gss_*_test.go) are by sockets: floods of contexts, what somebody has
// heard on the way, protected calls with chunks, and a gateway between. There calls are counted.
package hostile
