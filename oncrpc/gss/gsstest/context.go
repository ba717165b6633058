package gsstest

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// pair creates a context without RPC and returns both ends.
func pair(t *testing.T, e Ends) (client, server gss.Context) {
	t.Helper()
	n, err := e.Initiator.Initiate(t.Context(), e.Target)
	if err != nil {
		t.Fatal(err)
	}
	other := e.Acceptor.Accept()
	token, client, err := n.Step(t.Context(), nil)
	for range 20 {
		if err != nil {
			t.Fatal(err)
		}
		if token, server, err = other.Step(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		if client == nil {
			token, client, err = n.Step(t.Context(), token)
		}
		if server != nil && client != nil {
			return client, server
		}
	}
	t.Fatal("context is never made")
	return nil, nil
}

// testContext checks that contexts do what gss.Context requires.
func testContext(t *testing.T, e Ends) {
	client, server := pair(t, e)
	if got := server.Peer(); got != e.Principal {
		t.Errorf("acceptor's peer is %q, want %q", got, e.Principal)
	}
	for _, c := range []gss.Context{client, server} {
		if end := c.Expires(); end.Before(time.Now().Add(30 * time.Second)) {
			t.Errorf("context ends at %v", end)
		}
	}
	for _, ends := range [][2]gss.Context{{client, server}, {server, client}} {
		testMIC(t, ends[0], ends[1])
		testWrap(t, ends[0], ends[1])
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			msg := [][]byte{bytes.Repeat([]byte{byte(i)}, 1000*i)}
			for range 20 {
				mic, err := client.AppendMIC(nil, msg)
				if err != nil || server.VerifyMIC(mic, msg) != nil {
					t.Error("concurrent checksums are wrong")
				}
				token, err := server.AppendWrap(nil, msg)
				if got, err2 := client.Unwrap(token); err != nil || err2 != nil || !bytes.Equal(got, msg[0]) {
					t.Errorf("concurrent messages are wrong: %v, %v", err, err2)
				}
			}
		})
	}
	all.Wait()
}

func testMIC(t *testing.T, from, to gss.Context) {
	text := []byte("the quick brown fox")
	for _, msg := range [][][]byte{nil, {{}}, {text}, {text[:1], nil, text[1:7], text[7:]}} {
		mic, err := from.AppendMIC([]byte("ahead"), msg)
		if err != nil || !bytes.HasPrefix(mic, []byte("ahead")) {
			t.Fatalf("%x, %v", mic, err)
		}
		mic = mic[len("ahead"):]
		if len(mic) > from.MaxMIC() {
			t.Errorf("checksum of %d bytes, %d at most", len(mic), from.MaxMIC())
		}
		whole := bytes.Join(msg, nil)
		if err := to.VerifyMIC(mic, [][]byte{whole}); err != nil {
			t.Errorf("%q: %v", msg, err)
		}
		if from.VerifyMIC(mic, msg) == nil {
			t.Error("the maker of a checksum accepts it as the peer's")
		}
		if to.VerifyMIC(mic, [][]byte{whole, {0}}) == nil {
			t.Error("checksum is also accepted for a longer message")
		}
		for i := range mic {
			for bit := range 8 {
				mic[i] ^= 1 << bit
				if to.VerifyMIC(mic, msg) == nil {
					t.Errorf("checksum is good with bit %d of byte %d flipped", bit, i)
				}
				mic[i] ^= 1 << bit
			}
			if to.VerifyMIC(mic[:i], msg) == nil {
				t.Errorf("checksum is good when cut to %d bytes", i)
			}
		}
	}
}

func testWrap(t *testing.T, from, to gss.Context) {
	most := 0
	for n := range 600 {
		plain := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
		size := from.WrapLen(n)
		if n < 256 {
			most = max(most, size-n)
		} else if size-n > most {
			t.Fatalf("%d bytes grow by %d, those below 256 by %d at most", n, size-n, most)
		}
		room := make([]byte, 3, 3+size)
		token, err := from.AppendWrap(room, [][]byte{plain[:n/3], plain[n/3:]})
		if err != nil || len(token) != 3+size || &token[0] != &room[0] {
			t.Fatalf("%d bytes became %d, want %d in the same place; %v", n, len(token)-3, size, err)
		}
		token = token[3:]
		if n >= 16 && bytes.Contains(token, plain[:16]) {
			t.Fatalf("plain text of %d bytes is in what is encrypted", n)
		}
		before := bytes.Clone(token)
		got, err := to.Unwrap(token)
		if err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("%d bytes became %d others, %v", n, len(got), err)
		}
		if n > 0 {
			decrypted := bytes.Clone(token)
			got[0] ^= 1
			if bytes.Equal(decrypted, token) {
				t.Error("what was decrypted is elsewhere")
			}
		}
		if n == 100 {
			testWrapFlipped(t, from, to, before)
		}
	}
	plain := bytes.Repeat([]byte{1}, 1<<20)
	token, err := from.AppendWrap(nil, [][]byte{plain})
	if err != nil || len(token) != from.WrapLen(len(plain)) {
		t.Errorf("1 MiB became %d bytes, %v", len(token), err)
	}
	if got, err := to.Unwrap(token); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("1 MiB came back as %d bytes, %v", len(got), err)
	}
}

func testWrapFlipped(t *testing.T, from, to gss.Context, token []byte) {
	if _, err := from.Unwrap(bytes.Clone(token)); err == nil {
		t.Error("the sender of a token accepts it as the peer's")
	}
	for i := range token {
		b := bytes.Clone(token)
		b[i] ^= 1 << (i % 8)
		if _, err := to.Unwrap(b); err == nil {
			t.Errorf("byte %d is flipped, and nobody notices", i)
		}
		if _, err := to.Unwrap(bytes.Clone(token[:i])); err == nil {
			t.Errorf("token is cut to %d bytes, and nobody notices", i)
		}
	}
}
