package gsstest_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMechanism has the mechanism for tests pass the suite.
func TestMechanism(t *testing.T) {
	for name, m := range map[string]gsstest.Mechanism{
		"one token each": {},
		"one token":      {OneWay: true},
		"three tokens":   {Rounds: 3, TokenLen: 1000},
	} {
		m.Secret, m.Lifetime = []byte("secret"), time.Hour
		t.Run(name, func(t *testing.T) {
			gsstest.Run(t, func(*testing.T) gsstest.Ends {
				return gsstest.Ends{
					Initiator: m.Initiator("alice@TEST"), Principal: "alice@TEST", Target: "test@server",
					Acceptor: m.Acceptor(),
					Stranger: (&gsstest.Mechanism{Secret: []byte("guess"), Lifetime: time.Hour}).Initiator("alice@TEST"),
				}
			})
		})
	}
}
