// Package slowlinks measures RPC-over-RDMA over iWARP on links that are slow, long, or that stop
// for a while. It reports how much of the link bulk transfers use, and how long a NULL beside them
// waits.
//
// It runs in virtual time (testing/synctest) on a network in memory (transport/faultnet). Both ends
// have the default configuration.
//
//	go test -tags soak ./bench/slowlinks            # checks a part of the table
//	SLOW_TABLE=1 go test -tags soak -run '^TestTable$' -v ./bench/slowlinks    # prints all of it
//
// docs/performance-history.md has the results.
package slowlinks
