//go:build interop

package kerberos

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/testkdc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
)

var goldenDir = flag.String("golden", "", "where to write what MIT's library has made, "+
	"for the tests of oncrpc/gss/krb5: ../../oncrpc/gss/krb5/testdata")

// golden is what MIT's library made. Byte slices are stored in base64.
type golden struct {
	Now    time.Time // of the requests
	Keytab []byte    // of nfs/server.test
	Cache  []byte    // of alice, with a ticket for the service

	Request    []byte        // MIT's AP-REQ, without mutual authentication
	ToAcceptor []goldenToken // MIT's tokens, of that context
	Reply      []byte        // MIT's AP-REP to our request at Now
	ToOurs     []goldenToken // MIT's tokens, of that context
	Error      []byte        // MIT's KRB-ERROR to our request 20 minutes later
}

type goldenToken struct {
	Text, MIC, Wrap []byte
	Rotated         []byte // rotated by the length of the data after the text
	Plain           []byte // without confidentiality
}

func goldenTokens(p *peer) (all []goldenToken) {
	for _, text := range []string{"", "x", "sixteen bytes!!!", "the quick brown fox jumps over the lazy dog"} {
		b := []byte(text)
		all = append(all, goldenToken{
			b, p.bytes("mic", b), p.bytes("wrap", b), p.bytes("rotated", b), p.bytes("plainwrap", b),
		})
	}
	return all
}

// TestGolden makes the files in oncrpc/gss/krb5/testdata. With them, the tests of package krb5 run
// without MIT's library.
func TestGolden(t *testing.T) {
	eachEnctype(t, func(t *testing.T, k *testkdc.KDC) {
		keys, cache := keytab(t, k, "nfs/server.test"), kinit(t, k)
		if _, err := testkdc.Output(k.Command("kvno", "-c", "FILE:"+cache, "nfs/server.test"), ""); err != nil {
			t.Fatal(err)
		}
		g := golden{Now: time.Now().UTC().Truncate(time.Microsecond), Keytab: read(t, keys), Cache: read(t, cache)}

		p := mitInitiator(t, k, cache, "oneway")
		g.Request = p.bytes("step", nil)
		g.ToAcceptor = goldenTokens(p)

		at := g.Now
		i := initiator(t, krb5.InitiatorConfig{
			Cache: cache, Conf: k.Conf(), Now: func() time.Time { return at },
		})
		token, _ := step(t, initiate(t, i), nil)
		p = mitAcceptor(t, k, keys)
		g.Reply = p.bytes("step", token)
		g.ToOurs = goldenTokens(p)

		at = at.Add(20 * time.Minute)
		token, _ = step(t, initiate(t, i), nil)
		words, err := mitAcceptor(t, k, keys).ask("step", token)
		if err == nil {
			t.Fatal("MIT accepts another clock")
		}
		g.Error = fromHex(t, words[len(words)-1])

		b, err := json.MarshalIndent(g, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		dir := *goldenDir
		if dir == "" {
			dir = t.TempDir()
		}
		name := filepath.Base(t.Name()) + ".json"
		if err := os.WriteFile(filepath.Join(dir, name), append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	})
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
