//go:build interop

package commands

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// random is unpredictable data, longer than one READ or WRITE.
var random = sync.OnceValue(func() []byte {
	p := make([]byte, 3<<20+1)
	rng := rand.NewChaCha8([32]byte{7})
	_, _ = rng.Read(p) // which never fails
	return p
})

// copied puts a file at a URL and gets it back.
func (r *realm) copied(t *testing.T, user, url string) {
	t.Helper()
	dir := t.TempDir()
	up, down := filepath.Join(dir, "up"), filepath.Join(dir, "down")
	if err := os.WriteFile(up, random(), 0o644); err != nil {
		t.Fatal(err)
	}
	r.ok(t, user, "put", up, url)
	r.ok(t, user, "get", url, down)
	got, err := os.ReadFile(down)
	if err != nil || !bytes.Equal(got, random()) {
		t.Errorf("%s: %v, %d bytes came back, not those that went", url, err, len(got))
	}
}

// owner returns the user ID of a file's owner.
func (r *realm) owner(t *testing.T, user, url string) int {
	t.Helper()
	fields := strings.Fields(r.ok(t, user, "ls", "-dn", url))
	if len(fields) < 4 {
		t.Fatalf("ls has printed %q", fields)
	}
	n, err := strconv.Atoi(fields[2])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCopy: files are copied in both directions with each service, over RDMA and TCP, and are owned
// by the authenticated user. At the end the server has no contexts left.
func TestCopy(t *testing.T) {
	r := newRealm(t)
	s := r.serve(t, "krb5:krb5i:krb5p")
	for _, scheme := range []string{"rdma", "tcp"} {
		for _, sec := range []string{"", "krb5", "krb5i", "krb5p"} {
			t.Run(scheme+" "+sec, func(t *testing.T) {
				file := s.url(scheme, "/export/"+scheme+sec, sec)
				r.copied(t, "alice", file)
				if n := r.owner(t, "alice", file); n != aliceID {
					t.Errorf("it belongs to user %d, want %d", n, aliceID)
				}
			})
		}
	}
	tcp := s.url("tcp", "/export/bob", "krb5i")
	r.copied(t, "bob", tcp)
	if n := r.owner(t, "bob", tcp); n != 65534 {
		t.Errorf("a file of bob, who is no user there, belongs to user %d", n)
	}
	r.fails(t, "bob", "operation not permitted to bob@"+r.Realm+
		"; if the server has no such user, it takes this principal for nobody, and its log says so\n", "rm", s.url("rdma", "/export/rdmakrb5", ""))
	text := metrics(t, s)
	if value(t, text, `rpcrdma_gss_contexts{state="made"}`) != 0 ||
		value(t, text, "rpcrdma_gss_contexts_made_total") == 0 ||
		value(t, text, `rpcrdma_gss_refusals_total{reason="bad_mic"}`) != 0 {
		t.Errorf("the server counts\n%s", text)
	}
}

// metrics returns the server's metrics as text.
func metrics(t *testing.T, s *server) string {
	t.Helper()
	res, err := http.Get(s.metrics)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// value returns the value of a metric.
func value(t *testing.T, text, name string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in\n%s", name, text)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestGateway: a gateway passes on data that it cannot read.
func TestGateway(t *testing.T) {
	r := newRealm(t)
	s := r.serve(t, "krb5:krb5i:krb5p")
	g := served.StartGateway(t, command, "--to", fmt.Sprintf("rdma://127.0.0.1:%d", s.RDMA))
	for _, sec := range []string{"", "krb5", "krb5i", "krb5p"} {
		file := at("tcp", g.Port, "/export/"+sec+"file", sec)
		r.copied(t, "alice", file)
		if n := r.owner(t, "alice", file); n != aliceID {
			t.Errorf("sec=%s: it belongs to user %d, want %d", sec, n, aliceID)
		}
	}
}
