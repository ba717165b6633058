package rpcrdma_test

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// inBubble runs f where time passes when nothing else can happen, and only then.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// rapidInBubble is inBubble for a check of rapid's.
func rapidInBubble(t *testing.T, rt *rapid.T, f func(tb testing.TB)) {
	var failure any
	inBubble(t, func(t *testing.T) {
		tb := &rapidTB{TB: t, rt: rt}
		defer func() {
			failure = recover()
			tb.clean()
		}()
		f(tb)
	})
	if failure != nil {
		panic(failure) // rapid's, for rapid
	}
}

// quarters has quarters of a PeerTimeout of an hour pass, in a bubble.
func quarters(n int) {
	time.Sleep(time.Duration(n) * time.Hour / 4)
	synctest.Wait()
}
