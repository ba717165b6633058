module github.com/rpcrdma/go-rpcrdma

go 1.26.0
