package gss_test

import (
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
)

// The flavour passes the suite with the mechanism for tests.
func TestConformance(t *testing.T) {
	for name, m := range map[string]*gsstest.Mechanism{
		"one token each": secret(gsstest.Mechanism{Lifetime: time.Hour}),
		"one token":      secret(gsstest.Mechanism{Lifetime: time.Hour, OneWay: true}),
		"three tokens":   secret(gsstest.Mechanism{Lifetime: time.Hour, Rounds: 3, TokenLen: 5000}),
	} {
		t.Run(name, func(t *testing.T) {
			guess := &gsstest.Mechanism{Secret: []byte("guess"), Lifetime: time.Hour}
			gsstest.Run(t, func(*testing.T) gsstest.Ends {
				return gsstest.Ends{
					Initiator: m.Initiator("alice@TEST"), Principal: "alice@TEST", Target: "test@server",
					Acceptor: m.Acceptor(),
					Stranger: guess.Initiator("alice@TEST"),
				}
			})
		})
	}
}
