package gsstest

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// Ends are both ends of a mechanism, as Run needs them. What they have made may be used
// concurrently.
type Ends struct {
	Initiator gss.Initiator // of a principal
	Principal string        // its name at the acceptor
	Target    string        // the service's name
	Acceptor  gss.Acceptor  // of that service
	// Stranger makes contexts that the acceptor refuses; nil for none.
	Stranger gss.Initiator
}

// Run is the suite that a mechanism passes, and package gss with it. New is called once for each
// test. The contexts must end at some time, in a minute or later.
func Run(t *testing.T, newEnds func(t *testing.T) Ends) {
	for _, tt := range []struct {
		name string
		test func(t *testing.T, e Ends)
	}{
		{"Context", testContext},
		{"Calls", testCalls},
		{"Flipped", testFlipped},
		{"FlippedReply", testFlippedReply},
		{"Truncated", testTruncated},
		{"TruncatedToken", testTruncatedToken},
		{"FlippedToken", testFlippedToken},
		{"Stranger", testStranger},
		{"Creation", testCreation},
		{"Sequence", testSequence},
		{"OthersHandle", testOthersHandle},
		{"Expired", testExpired},
		{"Destroyed", testDestroyed},
		{"Forgotten", testForgotten},
		{"Hosts", testHosts},
		{"Repeated", testRepeated},
		{"OtherService", testOtherService},
		{"Replayed", testReplayed},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, newEnds(t)) })
	}
}
