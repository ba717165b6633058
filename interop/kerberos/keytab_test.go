//go:build interop

package kerberos

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/testkdc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
)

// TestKeytabs: MIT's acceptor and ours take the same keytabs, beginning with one that replaces
// another under a running service. Both initiators call both.
func TestKeytabs(t *testing.T) {
	const name = "nfs/server.test"
	k := realm(t, testkdc.Config{})
	former := contents(t, keytab(t, k, name))
	// A principal that is added again has other keys, with the versions that it had.
	if err := k.Delete(name); err != nil {
		t.Fatal(err)
	}
	add(t, k, name, testkdc.Principal{})
	latter := contents(t, keytab(t, k, name))

	path := k.File("keytab")
	replace(t, path, former)
	ours, mits := acceptor(t, krb5.AcceptorConfig{Keytab: path}), mitAcceptor(t, k, path)
	cache := kinit(t, k)
	i := initiator(t, krb5.InitiatorConfig{Cache: cache, Conf: k.Conf()})
	for _, c := range []struct {
		what   string
		keytab []byte
	}{
		{"replaced", latter},
		{"the new keys first", append(bytes.Clone(latter), former[2:]...)},
		{"the old keys first", append(bytes.Clone(former), latter[2:]...)},
		{"no version", unversioned(latter)},
	} {
		replace(t, path, c.keytab)
		n := initiate(t, i)
		token, _ := step(t, n, nil)
		if words, err := mits.ask("step", token); err != nil || words[0] != "made" {
			t.Errorf("%s: MIT's acceptor: %s, %v", c.what, words, err)
		}
		mits = mitAcceptor(t, k, path) // it makes one context
		ourPair(t, i, ours)
		p := mitInitiator(t, k, cache)
		if _, _, err := ours.Accept().Step(t.Context(), p.bytes("step", nil)); err != nil {
			t.Errorf("%s: MIT's initiator: %v", c.what, err)
		}
	}
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// replace puts a new file in the place of another.
func replace(t *testing.T, path string, b []byte) {
	t.Helper()
	err := os.WriteFile(path+".new", b, 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// unversioned returns a keytab of MIT's kadmin with the version 0, as ktpass and tools for Active
// Directory make it.
func unversioned(b []byte) []byte {
	b = bytes.Clone(b)
	for at := 2; at < len(b); {
		n := int(binary.BigEndian.Uint32(b[at:]))
		e := b[at+4 : at+4+n]
		k := 2
		for range 1 + binary.BigEndian.Uint16(e) { // the realm, and the parts of the name
			k += 2 + int(binary.BigEndian.Uint16(e[k:]))
		}
		e[k+8] = 0        // after the kind of name and the time
		clear(e[n-4 : n]) // the version with 32 bits
		at += 4 + n
	}
	return b
}
