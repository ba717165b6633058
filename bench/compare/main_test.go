package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

func TestMain(m *testing.M) {
	fileSize = 8 << 20
	paired.Main() // does not return in a child
	code := m.Run()
	if code == 0 {
		// A Target of go-nfs-client never stops cleaning up its cache.
		if err := goleak.Find(goleak.IgnoreAnyFunction("github.com/willscott/go-nfs-client/nfs.(*Target).cleanupCache")); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
