package gsstest

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// Ends are the two ends of a mechanism, for Run. They must be safe for concurrent use.
type Ends struct {
	Initiator gss.Initiator // acts for a principal
	Principal string        // the principal's name as the acceptor sees it
	Target    string        // the service's name
	Acceptor  gss.Acceptor  // acts for that service
	// Stranger creates contexts that the acceptor refuses; nil if there are none.
	Stranger gss.Initiator
}

// Run runs the suite on a mechanism and package gss. It calls newEnds once for each test. Contexts
// must expire, no sooner than in a minute.
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
