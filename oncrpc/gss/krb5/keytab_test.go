package krb5_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// entries returns a keytab of nfs/server.test with the entries of others.
func entries(keytabs ...[]byte) []byte {
	b := []byte{5, 2}
	for _, k := range keytabs {
		b = append(b, k[2:]...)
	}
	return b
}

func entry(id enctype.ID, key []byte, version uint8) []byte {
	return keytabBytes(id, key, version, []string{"nfs", "server.test"})
}

// wide returns an entry whose version has 32 bits.
func wide(id enctype.ID, key []byte, version uint32) []byte {
	b := binary.BigEndian.AppendUint32(entry(id, key, uint8(version)), version)
	binary.BigEndian.PutUint32(b[2:], uint32(len(b)-6))
	return b
}

// hole returns the place of an entry that was deleted.
func hole(n int32) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{5, 2}, uint32(-n)), make([]byte, n)...)
}

// The key of a ticket is found whatever the keytab says of its version, as by MIT's library.
func TestKeyOfTicket(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	key, old := r.service, r.id.NewKey()
	same := slices.Repeat([][]byte{entry(r.id, old, 100)}, 16)
	var each [][]byte
	for i := range same {
		each = append(each, entry(r.id, r.id.NewKey(), uint8(100+i)))
	}
	many := entries(each...)
	for _, tt := range []struct {
		name    string
		keytab  []byte
		version int // of the ticket
		code    uint32
	}{
		{"two of one version", entries(entry(r.id, old, 3), entry(r.id, key, 3)), 3, 0},
		{"the new one first", entries(entry(r.id, key, 3), entry(r.id, old, 3)), 3, 0},
		{"version 0", entry(r.id, key, 0), 3, 0},
		{"version 0 beside another", entries(entry(r.id, key, 0), entry(r.id, old, 3)), 3, 0},
		{"no version in the ticket", entries(entry(r.id, key, 3), entry(r.id, old, 4)), 0, 0},
		{"8 bits in the keytab", entries(entry(r.id, old, 4), entry(r.id, key, 3)), 0x103, 0},
		{"32 bits in the keytab", entries(entry(r.id, old, 3), wide(r.id, key, 0x103)), 0x103, 0},
		{"the version of a domain controller", wide(r.id, key, 0xfedc0003), -0x123fffd, 0},
		{"a later version", entry(r.id, key, 3), 4, 0},
		{"after a deleted entry", entries(hole(77), entry(r.id, key, 3)), 3, 0},
		{"after other types", entries(entry(enctype.AES128SHA1, old[:16], 3), entry(r.id, key, 3)), 3, 0},
		{"after many", entries(many, entry(r.id, key, 3)), 3, 0},
		{"after many of this version", entries(many, entry(r.id, old, 3), entry(r.id, key, 3)), 3, 0},
		{"after many, of version 0", entries(many, entry(r.id, key, 0)), 3, 0},
		{"after too many", entries(many, entry(r.id, key, 3)), 2, 44},
		{"after one many times", entries(entries(same...), entry(r.id, key, 3)), 2, 0},
		{"another key", entries(entry(r.id, old, 3), entry(r.id, r.id.NewKey(), 3)), 3, 31},
		{"another key of version 0", entry(r.id, old, 0), 3, 31},
		{"another key of another version", entry(r.id, old, 3), 4, 44},
		{"another type", entry(enctype.AES128SHA1, old[:16], 3), 3, 44},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.keytab)
			a := r.acceptor(t, func(c *krb5.AcceptorConfig) { c.Keytab = path })
			token := r.request(t, func(q *apReq) { q.ticket.EncPart.KVNO = tt.version })
			if tt.code != 0 {
				refused(t, a, token, tt.code, path)
			} else if _, _, err := a.Accept().Step(t.Context(), token); err != nil {
				t.Error(err)
			}
		})
	}
}

// An Acceptor has the keys that are in the keytab, also if it is replaced by one of the same length
// and time.
func TestKeytabReplaced(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	path := r.keytab(t)
	a := r.acceptor(t, func(c *krb5.AcceptorConfig) { c.Keytab = path })
	accepted := func() {
		t.Helper()
		if _, _, err := a.Accept().Step(t.Context(), r.request(t, nil)); err != nil {
			t.Error(err)
		}
	}
	replace := func(b []byte, modified time.Time) {
		t.Helper()
		other := write(t, b)
		if err := os.Chtimes(other, modified, modified); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(other, path); err != nil {
			t.Fatal(err)
		}
	}
	accepted()
	former := r.request(t, nil)
	r.service = r.id.NewKey()
	refused(t, a, r.request(t, nil), 31, "ktadd")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	replace(entry(r.id, r.service, kvno), info.ModTime())
	accepted()
	refused(t, a, former, 31, path)

	// The file itself is changed.
	r.service = r.id.NewKey()
	if err := os.WriteFile(path, entry(r.id, r.service, kvno), 0o600); err != nil {
		t.Fatal(err)
	}
	later := info.ModTime().Add(time.Hour)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	accepted()
}

// A key that the administrator has removed from the keytab is not used, even if no other is left.
func TestKeytabEmptied(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	whole := entry(r.id, r.service, kvno)
	for name, keytab := range map[string][]byte{
		"ktremove":       hole(int32(len(whole) - 6)),
		"another's":      keytabBytes(r.id, r.service, kvno, []string{"host", "server.test"}),
		"no type we can": entry(23, make([]byte, 16), kvno),
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, whole)
			a := r.acceptor(t, func(c *krb5.AcceptorConfig) {
				c.Keytab, c.Principal = path, "nfs/server.test"
			})
			if err := os.Rename(write(t, keytab), path); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				refused(t, a, r.request(t, nil), 35, path+" has no key of ")
			}
			if err := os.Rename(write(t, entries(keytab, whole)), path); err != nil {
				t.Fatal(err)
			}
			if _, _, err := a.Accept().Step(t.Context(), r.request(t, nil)); err != nil {
				t.Errorf("with the key again: %v", err)
			}
		})
	}
}

// While a keytab cannot be read, the former keys are used. Peers cannot have it read more often
// than once a second, and the error does not show keys.
func TestKeytabHalfWritten(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	path := r.keytab(t)
	at := now
	a := r.acceptor(t, func(c *krb5.AcceptorConfig) {
		c.Keytab, c.Now = path, func() time.Time { return at }
	})
	key := bytes.Repeat([]byte("key!"), 8)
	newer := func(words string) {
		t.Helper()
		_, _, err := a.Accept().Step(t.Context(), r.request(t, func(q *apReq) { q.key = key }))
		switch {
		case words == "" && err != nil:
			t.Error(err)
		case words != "" && (err == nil || !strings.Contains(err.Error(), words)):
			t.Errorf("%v; want ...%s...", err, words)
		case words != "" && strings.Contains(err.Error(), "key!"):
			t.Errorf("the error shows the key: %v", err)
		}
	}
	whole := entries(entry(r.id, r.service, kvno), entry(r.id, key, kvno))
	for _, n := range []int{len(whole) - 1, len(whole) - 10, 6, 2, 0} {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second)
		former := r.request(t, func(q *apReq) { q.auth.CTime = at.Truncate(time.Second) })
		if _, _, err := a.Accept().Step(t.Context(), former); err != nil {
			t.Errorf("with the former key, and %d bytes: %v", n, err)
		}
		newer("malformed")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	at = at.Add(time.Second)
	newer("no such file")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	newer("no such file") // it was read a moment ago
	at = at.Add(time.Second)
	newer("")
}
