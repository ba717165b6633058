// Package slowlinks measures RPC-over-RDMA over iWARP on links that are slow, far away, or stop for
// a while: what bulk transfer leaves unused of a link, and how long a NULL beside it waits. It runs
// in virtual time (testing/synctest) on a network in memory (transport/faultnet), with the default
// configuration at both ends.
//
//	SLOW_TABLE=1 go test -run '^TestTable$' -v ./bench/slowlinks    # prints the whole table
//	go test ./bench/slowlinks                                       # a part of that, as a test
package slowlinks
