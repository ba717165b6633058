package krb5_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// offset returns a cache of cacheBytes with another header: a tag that nobody knows, and how far
// the KDC's clock is ahead.
func offset(cache []byte, ahead time.Duration) []byte {
	b := []byte{5, 4, 0, 18, 0, 9, 0, 2, 0xff, 0xff, 0, 1, 0, 8}
	b = binary.BigEndian.AppendUint32(b, uint32(ahead/time.Second))
	b = binary.BigEndian.AppendUint32(b, uint32(ahead%time.Second/time.Microsecond))
	return append(b, cache[16:]...)
}

// A client whose clock is wrong goes by the KDC's, whose offset is in the credential cache.
func TestOffsetInCache(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	for _, wrong := range []time.Duration{
		12 * time.Minute, -12 * time.Minute, 30*time.Hour + 400*time.Millisecond, -30 * time.Hour,
	} {
		path := r.cache(t)
		cache := must(os.ReadFile(path))
		if err := os.WriteFile(path, offset(cache, -wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		configure := func(c *krb5.InitiatorConfig) {
			c.Cache, c.Now = path, func() time.Time { return now.Add(wrong) }
		}
		i := r.initiator(t, configure)
		if _, err := i.Principal(); err != nil {
			t.Errorf("ahead by %v: %v", wrong, err)
		}
		n, token := begun(t, i)
		reply, _, err := r.acceptor(t, nil).Accept().Step(t.Context(), token)
		if err != nil {
			t.Fatalf("ahead by %v: %v", wrong, err)
		}
		_, made, err := n.Step(t.Context(), reply)
		if err != nil {
			t.Fatalf("ahead by %v: %v", wrong, err)
		}
		want := now.Add(time.Hour).Truncate(time.Second).Add(wrong)
		if got := made.Expires(); !got.Equal(want) {
			t.Errorf("ahead by %v: the context ends at %v of our clock, want %v", wrong, got, want)
		}
		n, _ = begun(t, i)
		_, _, err = n.Step(t.Context(), framed(0x0300, krbError(37)))
		if err == nil || !strings.Contains(err.Error(), "of the KDC's, which was ") {
			t.Errorf("ahead by %v: %v", wrong, err)
		}

		i = r.initiator(t, func(c *krb5.InitiatorConfig) {
			configure(c)
			c.Conf = conf(t, "kdc_timesync = 0")
		})
		if wrong.Abs() > time.Hour {
			fails(t, i, service, "GSS_S_")
			continue
		}
		_, token = begun(t, i)
		refused(t, r.acceptor(t, nil), token, 37, "12m0s ")
	}
	if _, _, err := krb5.ParseCache([]byte{5, 4, 0, 8, 0, 1, 0, 4, 0, 0, 0, 0}); err == nil {
		t.Error("an offset of 4 bytes is taken")
	}
}

// A client whose clock was set back, and that was idle until its tickets were over, does not keep
// to them: not those for services, and not the KDC's.
func TestClockIsSetBack(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	for _, other := range []bool{false, true} {
		var passed, wrong time.Duration
		kdc := func() time.Time { return now.Add(passed) }
		k := r.serves(t, kdc)
		i := k.keytabClient(t, func() time.Time { return kdc().Add(wrong) })
		begun(t, i)
		passed, wrong = 7*time.Hour, -4*time.Hour
		if other {
			if _, err := i.Initiate(t.Context(), "nfs@other.test"); err != nil {
				t.Error(err)
			}
		} else {
			n, _ := begun(t, i)
			n.(gss.Explainer).Explain(&gss.StatusError{Minor: minorBase + 32})
		}
		_, token := begun(t, i)
		if d := r.sentAt(t, token).Sub(kdc()); d.Abs() > time.Second {
			t.Errorf("the authenticator is %v off", d)
		}
	}
}

// sentAt returns the time in an AP-REQ.
func (r *rig) sentAt(t *testing.T, token []byte) time.Time {
	t.Helper()
	var req messages.APReq
	if err := req.Unmarshal(token[bytes.Index(token, []byte{1, 0, 0x6e})+2:]); err != nil {
		t.Fatal(err)
	}
	if err := req.DecryptAuthenticator(wireKey(r.id, r.session)); err != nil {
		t.Fatal(err)
	}
	return req.Authenticator.CTime
}

// keytabClient returns an Initiator with a keytab of alice.
func (k *ownKDC) keytabClient(t *testing.T, host func() time.Time) *krb5.Initiator {
	return k.initiator(t, func(c *krb5.InitiatorConfig) {
		c.Keytab, c.Now = write(t, keytabBytes(k.id, k.service, kvno, []string{"alice"})), host
		c.Conf = conf(t, "[realms]", realm+" = {", "kdc = "+k.addr, "}")
	})
}

// A client with a keytab learns the KDC's clock from it.
func TestOffsetOfKDC(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	for _, preauth := range []bool{false, true} {
		for _, wrong := range []time.Duration{
			12 * time.Minute, -12 * time.Minute, 30 * time.Hour, -30 * time.Hour,
		} {
			k := r.serves(t, atNow)
			k.preauth = preauth
			i := k.keytabClient(t, func() time.Time { return now.Add(wrong) })
			_, token := begun(t, i)
			if d := r.sentAt(t, token).Sub(now); d.Abs() > time.Second {
				t.Errorf("ahead by %v: the authenticator is %v off", wrong, d)
			}
		}
	}
}

// If the clock of a client with a keytab is set, it learns again how far the KDC's is ahead: from a
// KDC that says so at once, and from a service, by which it can be led to log in once a minute.
func TestClockIsSet(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	var passed, wrong time.Duration
	kdc := func() time.Time { return now.Add(passed) }
	k := r.serves(t, kdc)
	i := k.keytabClient(t, func() time.Time { return kdc().Add(wrong) })
	asked := func(want int32) {
		t.Helper()
		if n := k.asked.Swap(0); n != want {
			t.Errorf("the KDC was asked %d times, want %d", n, want)
		}
	}
	right := func(n gss.Negotiation, token []byte) {
		t.Helper()
		if d := r.sentAt(t, token).Sub(kdc()); d.Abs() > time.Second {
			t.Errorf("the authenticator is %v off", d)
		}
	}
	wrong = 12 * time.Minute
	right(begun(t, i))
	asked(2)

	passed, wrong = time.Hour, 0
	n, _ := begun(t, i)
	asked(0)
	if _, _, err := n.Step(t.Context(), framed(0x0300, krbError(37))); err == nil {
		t.Fatal("an error makes a context")
	}
	n, token := begun(t, i)
	right(n, token)
	asked(1)
	n.(gss.Explainer).Explain(&gss.StatusError{Major: gss.Failure, Minor: minorBase + 37})
	right(begun(t, i))
	asked(0)

	passed, wrong = 2*time.Hour, -12*time.Minute
	right(begun(t, i)) // the service's word of before
	asked(1)
	passed, wrong = 3*time.Hour, 12*time.Minute
	if _, err := i.Initiate(t.Context(), "nfs@other.test"); err != nil {
		t.Error(err)
	}
	asked(3)
	right(begun(t, i))
	asked(0)
}
