package rpcrdma_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// The connections of Dial share the pool of their domain, as long as one of them is there.
func TestDialledShare(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	first, second, others := r.dial(rpcrdma.Config{}), r.dial(rpcrdma.Config{}), newRig(t, rpcrdma.Config{}).dial(rpcrdma.Config{})
	if first.Pool() != second.Pool() || first.Pool() == others.Pool() {
		t.Error("connections of one domain do not share a pool, or others do")
	}
	for _, c := range []*rpcrdma.Conn{first, second} {
		c.Close()
		<-c.Done()
	}
	if again := r.dial(rpcrdma.Config{}); again.Pool() == first.Pool() {
		t.Error("a pool is used that is closed")
	}
}
