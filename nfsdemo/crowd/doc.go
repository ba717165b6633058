// Package crowd has many clients work on one server at a time, which is started again and again
// under them, and compares what they see with what they have done. It is tests alone.
//
// Each client has a directory of its own, for which a model says what is there after each
// operation, and at the end; and there is one for all, in which files are put in place by renames:
// whoever reads one finds it whole.
//
//	go test ./nfsdemo/crowd                                    # some seconds, a few clients
//	CROWD_CLIENTS=64 CROWD_TIME=10m go test -timeout 1h -v ./nfsdemo/crowd
package crowd
