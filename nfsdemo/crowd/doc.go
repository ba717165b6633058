// Package crowd tests a server that restarts again and again while many clients work on it. It has
// only tests.
//
// Each client has its own directory, and a model of what that must contain after each operation and
// at the end. In a directory for all, clients put files into place by renames, and every file that
// is read must be complete.
//
//	go test -tags soak ./nfsdemo/crowd                         # some seconds, a few clients
//	CROWD_CLIENTS=64 CROWD_TIME=10m go test -tags soak -timeout 1h -v ./nfsdemo/crowd
package crowd
