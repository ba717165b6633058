// Package hostile tests what bad clients can do to a server and to its other clients.
//
//	go test ./interop/hostile
//	go test -tags soak ./interop/hostile -run TestServe/calls   # over sockets
//	go test -tags soak ./interop/hostile -run TestServe -figures -timeout 2h
//
// The last prints the table of docs/security-bounds.md.
//
// An attack is a row of a table (attacks_*_test.go): what one host does to the server, by which
// ways (iWARP, SCTP, RoCE, TCP, TLS, metrics), on how many connections, and which threat of RFC
// 5042 or RFC 8166 section 8 that is. An attack by RDMA's verbs is written once for all providers;
// one by bytes is for the protocols that have these. The bystanders are good clients on other
// hosts, over the attacked transport and over TCP. Each test measures how they fare.
// docs/security-bounds.md says, threat by threat, what they may expect.
//
//   - TestBystander runs the attacks over iWARP and TCP in virtual time, so any delay comes from
//     the server's decisions.
//   - TestServe runs all of them over sockets. The server is a process of its own, and its memory
//     is measured.
//   - The tests of RPCSEC_GSS (gss_*_test.go) run over sockets, and count calls: floods of
//     contexts, replayed traffic, protected calls with chunks, and a gateway between client and
//     server.
package hostile
