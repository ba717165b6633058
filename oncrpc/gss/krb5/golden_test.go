package krb5_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// golden is output of MIT's library: see testdata/README.md.
type golden struct {
	Now           time.Time
	Keytab, Cache []byte

	Request    []byte // MIT's AP-REQ, without mutual authentication
	ToAcceptor []goldenToken
	Reply      []byte // MIT's AP-REP to our request at Now
	ToOurs     []goldenToken
	Error      []byte // MIT's KRB-ERROR to our request 20 minutes later
}

type goldenToken struct{ Text, MIC, Wrap, Rotated, Plain []byte }

// check passes MIT's tokens to a context.
func (g goldenToken) check(t *testing.T, c gss.Context) {
	t.Helper()
	if err := c.VerifyMIC(g.MIC, [][]byte{g.Text}); err != nil {
		t.Errorf("MIC of %q: %v", g.Text, err)
	}
	if err := c.VerifyMIC(g.MIC, [][]byte{g.Text, {0}}); err == nil {
		t.Errorf("MIC of %q is one of another text, too", g.Text)
	}
	for _, token := range [][]byte{g.Wrap, g.Rotated} {
		if got, err := c.Unwrap(token); err != nil || !bytes.Equal(got, g.Text) {
			t.Errorf("Wrap of %q: %q, %v", g.Text, got, err)
		}
	}
	if rrc := g.Rotated[6:8]; bytes.Equal(rrc, []byte{0, 0}) {
		t.Error("the token is not rotated")
	}
	got, err := c.Unwrap(g.Plain)
	if err == nil {
		t.Errorf("a token that is not encrypted is taken: %q", got)
	}
}

// Messages of MIT's library are understood, for each encryption type.
func TestGolden(t *testing.T) {
	for _, id := range enctype.All {
		t.Run(id.String(), func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", id.String()+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var g golden
			if err := json.Unmarshal(b, &g); err != nil {
				t.Fatal(err)
			}
			at := g.Now
			clock := func() time.Time { return at }
			a, err := krb5.NewAcceptor(krb5.AcceptorConfig{Keytab: write(t, g.Keytab), Now: clock})
			if err != nil {
				t.Fatal(err)
			}
			reply, made, err := a.Accept().Step(t.Context(), g.Request)
			if err != nil || reply != nil || made.Peer() != "alice@TEST.EXAMPLE" {
				t.Fatalf("MIT's AP-REQ: %x, %v, %v", reply, made, err)
			}
			for _, token := range g.ToAcceptor {
				token.check(t, made)
			}

			i, err := krb5.NewInitiator(krb5.InitiatorConfig{Cache: write(t, g.Cache), Conf: conf(t), Now: clock})
			if err != nil {
				t.Fatal(err)
			}
			n, _ := begun(t, i)
			if _, made, err = n.Step(t.Context(), g.Reply); err != nil {
				t.Fatalf("MIT's AP-REP: %v", err)
			}
			for _, token := range g.ToOurs {
				token.check(t, made)
			}

			at = at.Add(20 * time.Minute)
			n, _ = begun(t, i)
			_, _, err = n.Step(t.Context(), g.Error)
			if err == nil || !strings.Contains(err.Error(), "clock skew too great: its clock is ") ||
				!strings.Contains(err.Error(), "behind ours") {
				t.Errorf("MIT's KRB-ERROR: %v", err)
			}
		})
	}
}
