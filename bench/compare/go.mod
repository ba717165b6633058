module github.com/rpcrdma/go-rpcrdma/bench/compare

go 1.26.0

replace github.com/rpcrdma/go-rpcrdma => ../..

require (
	github.com/go-git/go-billy/v5 v5.6.0
	github.com/google/go-cmp v0.7.0
	github.com/rpcrdma/go-rpcrdma v0.0.0-00010101000000-000000000000
	github.com/vmware/go-nfs-client v0.0.0-20190605212624-d43b92724c1b
	github.com/willscott/go-nfs v0.0.4
	github.com/willscott/go-nfs-client v0.0.0-20251022144359-801f10d98886
	go.uber.org/goleak v1.3.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/klauspost/cpuid/v2 v2.0.9 // indirect
	github.com/rasky/go-xdr v0.0.0-20170124162913-1a41d1a06c93 // indirect
	github.com/zeebo/xxh3 v1.0.2 // indirect
)
