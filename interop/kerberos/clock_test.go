//go:build interop

package kerberos

import (
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/testkdc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
)

// TestClientClock: a client whose clock is wrong gets contexts, as with MIT's library: with a cache
// from kinit, and with a keytab, with and without preauthentication.
func TestClientClock(t *testing.T) {
	k := realm(t, testkdc.Config{})
	add(t, k, "robot", testkdc.Principal{})
	add(t, k, "careful", testkdc.Principal{})
	if _, err := k.Kadmin("modprinc", "+requires_preauth", "careful"); err != nil {
		t.Fatal(err)
	}
	keys := keytab(t, k, "nfs/server.test")
	a := acceptor(t, krb5.AcceptorConfig{Keytab: keys})
	robot, careful := keytab(t, k, "robot"), keytab(t, k, "careful")
	for _, wrong := range []time.Duration{12 * time.Minute, -12 * time.Minute} {
		var client clock
		client.shift(wrong)
		cache := k.File("ccache")
		kinit := k.Shifted(wrong, "kinit", "-c", "FILE:"+cache, "alice")
		if _, err := testkdc.Output(kinit, "secret\n"); err != nil {
			t.Fatal(err)
		}
		for _, cfg := range []krb5.InitiatorConfig{{Cache: cache}, {Keytab: robot}, {Keytab: careful}} {
			cfg.Conf, cfg.Now = k.Conf(), client.now
			i := initiator(t, cfg)
			ours, _ := ourPair(t, i, a)
			if left := ours.Expires().Sub(client.now()); left < 9*time.Hour || left > 10*time.Hour {
				t.Errorf("ahead by %v, %+v: the context ends in %v", wrong, cfg, left)
			}
			n := initiate(t, i)
			token, _ := step(t, n, nil)
			step(t, n, mitAcceptor(t, k, keys).bytes("step", token))
		}
		mits := k.Shifted(wrong, peerProgram, "initiate", "nfs@server.test")
		mits.Env = append(mits.Env, "KRB5CCNAME=FILE:"+cache)
		step(t, a.Accept(), startPeer(t, mits).bytes("step", nil))
	}
	var client clock
	client.shift(-30 * time.Hour) // MIT's kinit gets tickets that are over
	for _, keys := range []string{robot, careful} {
		ourPair(t, initiator(t, krb5.InitiatorConfig{Keytab: keys, Conf: k.Conf(), Now: client.now}), a)
	}
}
