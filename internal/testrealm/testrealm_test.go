package testrealm_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/testrealm"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
)

// A client and a service with separate files create a context.
func TestWrite(t *testing.T) {
	theirs, err := testrealm.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := testrealm.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	i, err := krb5.NewInitiator(krb5.InitiatorConfig{Cache: ours.Cache, Conf: ours.Conf})
	if err != nil {
		t.Fatal(err)
	}
	a, err := krb5.NewAcceptor(krb5.AcceptorConfig{Keytab: theirs.Keytab})
	if err != nil {
		t.Fatal(err)
	}
	n, err := i.Initiate(t.Context(), testrealm.Target)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := n.Step(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, made, err := a.Accept().Step(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	if got := made.Peer(); got != testrealm.Client {
		t.Errorf("the service calls the client %q, want %q", got, testrealm.Client)
	}
	if _, _, err := n.Step(t.Context(), reply); err != nil {
		t.Error(err)
	}
}
