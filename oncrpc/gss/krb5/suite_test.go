package krb5_test

import (
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
)

// The mechanism passes the suite, with package gss above it and a clock that runs.
func TestSuite(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		client := func(c *krb5.InitiatorConfig) { c.Now = nil }
		gsstest.Run(t, func(t *testing.T) gsstest.Ends {
			return gsstest.Ends{
				Initiator: r.initiator(t, client),
				Principal: "alice@TEST.EXAMPLE", Target: service,
				Acceptor: r.acceptor(t, func(c *krb5.AcceptorConfig) {
					// The suite requires that the server's context expires with the client's, or
					// soon after.
					c.Now, c.Skew = nil, 10*time.Second
				}),
				Stranger: newRig(r.id).initiator(t, client),
			}
		})
	})
}
