package krb5_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// ownKDC is a KDC of a rig, over TCP. It gives a ticket of 6 hours to everybody.
type ownKDC struct {
	*rig
	tb    testing.TB
	addr  string
	hangs atomic.Bool // it reads requests and does not answer
	asked atomic.Int32
	at    func() time.Time
	ends  time.Time // of the last ticket-granting ticket
	// preauth requires a timestamp with AS-REQs.
	preauth bool
}

func (r *rig) serves(tb testing.TB, at func() time.Time) *ownKDC {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	k := &ownKDC{rig: r, tb: tb, addr: l.Addr().String(), at: at}
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			ended.Go(func() {
				defer c.Close()
				var length [4]byte
				if _, err := io.ReadFull(c, length[:]); err != nil {
					return
				}
				b := make([]byte, binary.BigEndian.Uint32(length[:]))
				if _, err := io.ReadFull(c, b); err != nil {
					return
				}
				k.asked.Add(1)
				if k.hangs.Load() {
					_, _ = io.Copy(io.Discard, c)
					return
				}
				reply := k.reply(b)
				_, _ = c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(reply))), reply...))
			})
		}
	})
	tb.Cleanup(func() { l.Close(); ended.Wait() })
	return k
}

// reply returns an AS-REP, a TGS-REP or a KRB-ERROR. Nobody looks into its ticket.
func (k *ownKDC) reply(request []byte) []byte {
	const asReq, asRep, tgsRep = 10, 11, 13 // RFC 4120 section 5.10
	const needsPreauth, expired, skew = 25, 32, 37
	var as messages.ASReq
	var tgs messages.TGSReq
	kind, key, usage := asRep, k.service, uint32(3)
	err := as.Unmarshal(request)
	body, sent := as.ReqBody, k.at()
	switch {
	case request[0] != 0x60|asReq:
		kind, key, usage = tgsRep, k.session, 8
		err = tgs.Unmarshal(request)
		body = tgs.ReqBody
		if err == nil {
			sent, err = k.authenticated(tgs.PAData)
		}
	case k.preauth && len(as.PAData) == 0:
		return k.refusal(needsPreauth)
	case k.preauth:
		sent, err = k.timestamp(as.PAData)
	}
	if err != nil {
		k.tb.Error(err)
		return nil
	}
	if kind == tgsRep && k.at().After(k.ends) {
		return k.refusal(expired) // before skew, as MIT's does
	}
	if sent.Sub(k.at()).Abs() > 5*time.Minute {
		return k.refusal(skew)
	}
	start := k.at().UTC().Truncate(time.Second)
	end := start.Add(6 * time.Hour)
	if body.Till.Unix() != 0 && body.Till.Before(end) { // RFC 4120 section 5.4.1
		end = body.Till
	}
	part := messages.EncKDCRepPart{
		Key: wireKey(k.id, k.session), LastReqs: []messages.LastReq{{LRType: 0, LRValue: start}},
		Nonce: body.Nonce, Flags: flags(), AuthTime: start, StartTime: start, EndTime: end,
		SRealm: realm, SName: body.SName,
	}
	plain := asn1tools.AddASNAppTag(must(asn1.Marshal(part)), 25)
	ticket := messages.Ticket{TktVNO: 5, Realm: realm, SName: body.SName,
		EncPart: types.EncryptedData{EType: int32(k.id), KVNO: 1, Cipher: make([]byte, 64)}}
	rep := messages.KDCRepFields{
		PVNO: 5, MsgType: kind, CRealm: realm, CName: name("alice"), Ticket: ticket,
		EncPart: must(crypto.GetEncryptedData(plain, wireKey(k.id, key), usage, kvno)),
	}
	if kind == asRep {
		k.ends = end
		return must((&messages.ASRep{KDCRepFields: rep}).Marshal())
	}
	return must((&messages.TGSRep{KDCRepFields: rep}).Marshal())
}

// timestamp returns the time in an AS-REQ (RFC 4120 section 5.2.7.2).
func (k *ownKDC) timestamp(data types.PADataSequence) (time.Time, error) {
	var enc types.EncryptedData
	if err := enc.Unmarshal(data[0].PADataValue); err != nil {
		return time.Time{}, err
	}
	plain, err := crypto.DecryptEncPart(enc, wireKey(k.id, k.service), 1)
	if err != nil {
		return time.Time{}, err
	}
	var ts types.PAEncTSEnc
	err = ts.Unmarshal(plain)
	return ts.PATimestamp, err
}

// authenticated returns the time in a TGS-REQ's authenticator.
func (k *ownKDC) authenticated(data types.PADataSequence) (time.Time, error) {
	var req messages.APReq
	if err := req.Unmarshal(data[0].PADataValue); err != nil {
		return time.Time{}, err
	}
	plain, err := crypto.DecryptEncPart(req.EncryptedAuthenticator, wireKey(k.id, k.session), 7)
	if err != nil {
		return time.Time{}, err
	}
	var auth types.Authenticator
	err = auth.Unmarshal(plain)
	return auth.CTime, err
}

// refusal returns a KRB-ERROR, with what is needed for preauthentication.
func (k *ownKDC) refusal(code int32) []byte {
	info := must(asn1.Marshal(types.ETypeInfo2{{EType: int32(k.id)}}))
	e := messages.KRBError{
		PVNO: 5, MsgType: 30, STime: k.at().UTC().Truncate(time.Second), ErrorCode: code,
		Realm: realm, SName: name("krbtgt", realm),
		EData: must(asn1.Marshal(types.PADataSequence{{PADataType: 19, PADataValue: info}})),
	}
	return must(e.Marshal())
}

// A KDC that hangs delays nobody whose tickets are valid, even when it is time to renew them.
func TestRenewalHangs(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	var ahead atomic.Int64
	at := func() time.Time { return now.Add(time.Duration(ahead.Load())) }
	k := r.serves(t, at)
	i := r.initiator(t, func(c *krb5.InitiatorConfig) {
		c.Keytab, c.Now = write(t, keytabBytes(r.id, r.service, kvno, []string{"alice"})), at
		c.Conf = conf(t, "[realms]", realm+" = {", "kdc = "+k.addr, "}")
	})
	initiate := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		n, err := i.Initiate(ctx, service)
		if err == nil {
			_, _, err = n.Step(ctx, nil)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	initiate()
	if n := k.asked.Load(); n != 2 {
		t.Errorf("the KDC was asked %d times, want 2", n)
	}
	ahead.Store(int64(5*time.Hour + 30*time.Minute)) // the last sixth
	k.hangs.Store(true)
	for range 10 {
		initiate()
	}
	if n := k.asked.Load(); n != 3 {
		t.Errorf("the KDC was asked %d times, want 3", n)
	}
	k.hangs.Store(false)
	ahead.Add(int64(2 * time.Minute))
	initiate()
	ahead.Add(int64(time.Hour)) // the service's ticket is over
	initiate()
	if n := k.asked.Load(); n != 5 {
		t.Errorf("the KDC was asked %d times, want 5", n)
	}
}
