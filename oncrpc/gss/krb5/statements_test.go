package krb5_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// These tests show statements of docs/conformance.md that no other test's table covers.

// Without subkeys, the session key protects tokens (rfc4121-2-3).
func TestNoSubkey(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		token := r.request(t, func(q *apReq) { q.auth.SubKey, q.flags = types.EncryptionKey{}, 16|32 })
		reply, made, err := r.acceptor(t, nil).Accept().Step(t.Context(), token)
		if err != nil || reply != nil {
			t.Fatalf("%x, %v", reply, err)
		}
		if got, err := made.Unwrap(r.wrapped(t, text, 0, 0, nil)); err == nil {
			t.Errorf("by a subkey that the context does not have: %q", got)
		}
		r.subkey = r.session
		if got, err := made.Unwrap(r.wrapped(t, text, 0, 0, nil)); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// A delegated ticket is ignored (rfc4121-4.1.1-2).
func TestDelegation(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	cred := []byte("what could be a KRB_CRED")
	token := r.request(t, func(q *apReq) {
		sum := binary.LittleEndian.AppendUint16(q.auth.Cksum.Checksum, 1)
		sum = binary.LittleEndian.AppendUint16(sum, uint16(len(cred)))
		q.auth.Cksum.Checksum = append(append(sum, cred...), "an extension"...)
		q.flags |= 1
	})
	_, made, err := r.acceptor(t, nil).Accept().Step(t.Context(), token)
	if err != nil || made.Peer() != "alice@TEST.EXAMPLE" {
		t.Errorf("%v, %v", made, err)
	}
}

// The authenticator has a sequence number from which the context's tokens are numbered
// (rfc4121-4.1.1-1, rfc4121-4.2.1-1).
func TestFirstNumber(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	n, token := begun(t, r.initiator(t, nil))
	var req messages.APReq
	if err := req.Unmarshal(token[bytes.Index(token, []byte{1, 0, 0x6e})+2:]); err != nil {
		t.Fatal(err)
	}
	if err := req.DecryptAuthenticator(wireKey(r.id, r.session)); err != nil {
		t.Fatal(err)
	}
	reply, _, err := r.acceptor(t, nil).Accept().Step(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	_, made, err := n.Step(t.Context(), reply)
	if err != nil {
		t.Fatal(err)
	}
	mic, err := made.AppendMIC(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := binary.BigEndian.Uint64(mic[8:]); got == 0 || got != uint64(req.Authenticator.SeqNumber) {
		t.Errorf("the first token has number %d, the authenticator %d", got, req.Authenticator.SeqNumber)
	}
}

// After a restart, an acceptor has forgotten authenticators. A replayed one then makes a context,
// but the sender lacks its key, and no token of the original context is valid in it.
func TestReplayAfterRestart(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	keytab := r.keytab(t)
	restart := func() *krb5.Acceptor {
		return r.acceptor(t, func(c *krb5.AcceptorConfig) { c.Keytab = keytab })
	}
	n, token := begun(t, r.initiator(t, nil))
	reply, before, err := restart().Accept().Step(t.Context(), bytes.Clone(token))
	if err != nil {
		t.Fatal(err)
	}
	_, client, err := n.Step(t.Context(), reply)
	if err != nil {
		t.Fatal(err)
	}
	msg := [][]byte{text}
	mic, err := client.AppendMIC(nil, msg)
	if err != nil {
		t.Fatal(err)
	}
	_, after, err := restart().Accept().Step(t.Context(), bytes.Clone(token))
	if err != nil {
		t.Fatal(err)
	}
	if err := before.VerifyMIC(mic, msg); err != nil {
		t.Errorf("before: %v", err)
	}
	status(t, after.VerifyMIC(mic, msg), gss.BadMIC)
}
