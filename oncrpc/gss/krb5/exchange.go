package krb5

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// Kinds of preauthentication (RFC 4120 section 7.5.2).
const (
	paTGSReq       = 1
	paEncTimestamp = 2
	paEtypeInfo2   = 19
)

// Bits of the options for a KDC (RFC 4120 section 5.4.1, RFC 6806 section 3).
const (
	optionCanonicalize = 15
	optionRenewableOK  = 27
)

// maxReferrals is the maximum number of realms on the way to a service.
const maxReferrals = 8

// kdcClient gets tickets from KDCs.
type kdcClient struct {
	conf   *profile
	etypes []enctype.ID // the first choice first
	clock  kdcClock
}

// kdcError is a KRB-ERROR of a KDC.
type kdcError struct {
	messages.KRBError
}

func (e *kdcError) code() code { return code(e.ErrorCode) }

func (e *kdcError) Error() string {
	if e.EText != "" && e.EText != e.code().String() {
		return fmt.Sprintf("%v (%s)", e.code(), printable(e.EText))
	}
	return e.code().String()
}

// exchange sends a request to a realm's KDC and returns the reply. If the KDC refuses, the error is
// a *kdcError.
func (k *kdcClient) exchange(ctx context.Context, realm string, request []byte) ([]byte, error) {
	reply, err := k.conf.send(ctx, realm, request)
	if err != nil {
		return nil, err
	}
	const errorTag = 0x60 | msgError
	if len(reply) == 0 || reply[0] != errorTag {
		return reply, nil
	}
	e := new(kdcError)
	if err := parse("KRB-ERROR", e.Unmarshal, reply); err != nil {
		return nil, err
	}
	return nil, e
}

// newNonce returns a random number that ties a reply to its request.
func newNonce() int {
	var b [4]byte
	random(b[:])
	return int(binary.BigEndian.Uint32(b[:]) >> 1)
}

func ids(etypes []enctype.ID) []int32 {
	numbers := make([]int32, len(etypes))
	for i, id := range etypes {
		numbers[i] = int32(id)
	}
	return numbers
}

// login gets a ticket-granting ticket with the keys of a principal (RFC 4120 section 3.1).
func (k *kdcClient) login(ctx context.Context, client principal, keys []keyEntry) (*ticket, error) {
	var etypes []enctype.ID
	for _, id := range k.etypes {
		if slices.ContainsFunc(keys, func(e keyEntry) bool { return e.key.etype == id }) {
			etypes = append(etypes, id)
		}
	}
	if len(etypes) == 0 {
		return nil, failed(codeEtype, "the keytab's keys of %v are of no permitted encryption type",
			client)
	}
	service := granting(client.realm, client.realm)
	var req messages.ASReq
	req.PVNO, req.MsgType = version, msgASReq
	req.ReqBody = messages.KDCReqBody{
		KDCOptions: bits(optionRenewableOK),
		CName:      client.wire(nameTypePrincipal), Realm: client.realm,
		SName: service.wire(nameTypeServiceInst), Nonce: newNonce(), EType: ids(etypes),
		// The KDC's maximum (RFC 4120 section 5.4.1). Before the login, we do not know its clock.
		Till: time.Unix(0, 0).UTC(),
	}
	reply, err := k.authenticate(ctx, &req, client, keys)
	if err != nil {
		return nil, k.describe(err, client, service)
	}
	var rep messages.ASRep
	if err := parse("AS-REP", rep.Unmarshal, reply); err != nil {
		return nil, failed(codeGeneric, "the KDC of %s: %w", client.realm, err)
	}
	with, ok := keyFor(keys, enctype.ID(rep.EncPart.EType), uint32(rep.EncPart.KVNO))
	if !ok {
		return nil, failed(codeBadKeyVersion, "the KDC answered %v with %v, for which the keytab has no "+
			"key", client, enctype.ID(rep.EncPart.EType))
	}
	t, err := k.take(&rep.KDCRepFields, with.key, usageASRepEncPart, req.ReqBody.Nonce, client)
	if err != nil {
		return nil, err
	}
	k.clock.learn(t.start.Sub(k.clock.host())) // it is the time of the login, not being postdated
	return t, nil
}

// authenticate sends an AS-REQ, and sends it again with an encrypted timestamp if the KDC requires
// that.
func (k *kdcClient) authenticate(ctx context.Context, req *messages.ASReq, client principal,
	keys []keyEntry) ([]byte, error) {
	b, err := req.Marshal()
	if err != nil {
		return nil, err
	}
	reply, err := k.exchange(ctx, client.realm, b)
	var refused *kdcError
	if !errors.As(err, &refused) || refused.code() != codePreauthRequired {
		return reply, err
	}
	with, err := preauthKey(refused, keys)
	if err != nil {
		return nil, err
	}
	seconds, micros := protocolTime(k.clock.now())
	if !k.clock.own {
		// Nothing authenticates this time, but if it is wrong the KDC refuses it.
		seconds, micros = refused.STime, refused.Susec
	}
	plain, err := asn1.Marshal(types.PAEncTSEnc{PATimestamp: seconds, PAUSec: micros})
	if err != nil {
		return nil, err
	}
	enc, err := with.encrypt(usagePAEncTimestamp, plain, 0)
	if err != nil {
		return nil, err
	}
	value, err := enc.Marshal()
	if err != nil {
		return nil, err
	}
	req.PAData = types.PADataSequence{{PADataType: paEncTimestamp, PADataValue: value}}
	if b, err = req.Marshal(); err != nil {
		return nil, err
	}
	return k.exchange(ctx, client.realm, b)
}

// preauthKey returns the key with which the KDC wants the timestamp encrypted.
func preauthKey(refused *kdcError, keys []keyEntry) (key, error) {
	var methods types.PADataSequence
	if err := parse("METHOD-DATA", methods.Unmarshal, refused.EData); err != nil {
		return key{}, err
	}
	for _, m := range methods {
		if m.PADataType != paEtypeInfo2 {
			continue
		}
		var infos types.ETypeInfo2
		if err := parse("ETYPE-INFO2", infos.Unmarshal, m.PADataValue); err != nil {
			return key{}, err
		}
		for _, info := range infos {
			if e, ok := keyFor(keys, enctype.ID(info.EType), 0); ok {
				return e.key, nil
			}
		}
	}
	return key{}, failed(codeEtype, "the KDC takes none of the encryption types that the keytab has")
}

// keyFor finds a key of an encryption type in keys, which contains only the newest keys. It prefers
// the one with the right version, but accepts others, because keytabs may not know it.
func keyFor(keys []keyEntry, id enctype.ID, version uint32) (found keyEntry, ok bool) {
	for _, e := range keys {
		if e.key.etype == id && (!ok || e.version == version) {
			found, ok = e, true
		}
	}
	return found, ok
}

// request gets a ticket with a ticket-granting ticket (RFC 4120 section 3.3). If refer is set, the
// KDC may answer with a ticket-granting ticket of another realm.
func (k *kdcClient) request(ctx context.Context, tgt *ticket, service principal, refer bool) (
	*ticket, error) {
	var options []int
	if refer {
		options = append(options, optionCanonicalize)
	}
	kind := int32(nameTypeServiceHost)
	if service.name[0] == ticketGranting {
		kind = nameTypeServiceInst
	}
	var req messages.TGSReq
	req.PVNO, req.MsgType = version, msgTGSReq
	req.ReqBody = messages.KDCReqBody{
		KDCOptions: bits(options...), Realm: tgt.grantsIn(), SName: service.wire(kind),
		Till: tgt.end.UTC(), Nonce: newNonce(), EType: ids(k.etypes),
	}
	body, err := req.ReqBody.Marshal()
	if err != nil {
		return nil, err
	}
	sum, err := enctype.NewChecksum(tgt.key.etype, tgt.key.value, usageTGSReqBodyChecksum)
	if err != nil {
		return nil, err
	}
	ap, err := tgt.present(bits(), usageTGSReqAuth, k.clock.now(), func(a *types.Authenticator) {
		a.Cksum = types.Checksum{
			CksumType: tgt.key.etype.ChecksumID(), Checksum: sum.Append(nil, nil, body),
		}
	})
	if err != nil {
		return nil, err
	}
	req.PAData = types.PADataSequence{{PADataType: paTGSReq, PADataValue: ap}}
	b, err := req.Marshal()
	if err != nil {
		return nil, err
	}
	reply, err := k.exchange(ctx, tgt.grantsIn(), b)
	if err != nil {
		return nil, k.describe(err, tgt.client, service)
	}
	var rep messages.TGSRep
	if err := parse("TGS-REP", rep.Unmarshal, reply); err != nil {
		return nil, failed(codeGeneric, "the KDC of %s: %w", tgt.grantsIn(), err)
	}
	return k.take(&rep.KDCRepFields, tgt.key, usageTGSRepEncPart, req.ReqBody.Nonce, tgt.client)
}

// take decrypts and checks a KDC's reply (RFC 4120 sections 3.1.5 and 3.3.4).
func (k *kdcClient) take(rep *messages.KDCRepFields, with key, usage uint32, nonce int,
	client principal) (*ticket, error) {
	plain, err := with.decrypt(usage, rep.EncPart)
	if err != nil {
		return nil, failed(codePreauthFailed, "the KDC's reply to %v: %w: the key is another one than "+
			"the KDC's; get a new keytab", client, err)
	}
	var part messages.EncKDCRepPart
	if err := parse("reply of the KDC", part.Unmarshal, plain); err != nil {
		return nil, failed(codeGeneric, "%w", err)
	}
	service := principalOf(part.SName, part.SRealm)
	switch {
	case part.Nonce != nonce:
		err = errors.New("it answers another request")
	case !client.equal(principalOf(rep.CName, rep.CRealm)):
		err = fmt.Errorf("it is for %s", printable(principalOf(rep.CName, rep.CRealm).String()))
	case !service.equal(principalOf(rep.Ticket.SName, rep.Ticket.Realm)) || len(service.name) == 0:
		err = errors.New("its ticket names another service")
	}
	if err != nil {
		return nil, failed(codeModified, "the KDC's reply to %v: %w", client, err)
	}
	session, err := keyOf(part.Key)
	if err != nil {
		return nil, failed(codeEtype, "the KDC's reply to %v: session key: %w", client, err)
	}
	t := &ticket{client: client, service: service, key: session}
	t.start, t.end = part.StartTime, part.EndTime
	if t.start.IsZero() {
		t.start = part.AuthTime
	}
	t.encoded, err = rep.Ticket.Marshal()
	return t, err
}

// find gets a ticket for a service. If the service's realm is "", it asks KDCs to find it (RFC 6806
// section 8).
func (k *kdcClient) find(ctx context.Context, tgt *ticket, service principal) (*ticket, error) {
	refer := service.realm == ""
	for range maxReferrals {
		here := tgt.grantsIn()
		next := principal{service.name, here}
		if !refer && service.realm != here {
			next = granting(service.realm, here)
		}
		t, err := k.request(ctx, tgt, next, refer)
		if err != nil {
			return nil, err
		}
		if slices.Equal(t.service.name, service.name) {
			return t, nil
		}
		if t.grantsIn() == "" || t.grantsIn() == here {
			return nil, failed(codeServerUnknown, "the KDC of %s has a ticket for %v, not for %v", here,
				t.service, next)
		}
		tgt = t
	}
	return nil, failed(codeServerUnknown, "KDCs have referred to others %d times to find %v",
		maxReferrals, service.name)
}

// describe explains a KDC's error and says what to do.
func (k *kdcClient) describe(err error, client, service principal) error {
	var refused *kdcError
	var said *gss.StatusError
	switch {
	case errors.As(err, &said):
		return err
	case !errors.As(err, &refused):
		return failed(codeGeneric, "%w", err)
	}
	advice := ""
	switch refused.code() {
	case codeClientUnknown:
		advice = fmt.Sprintf("%v is not a principal that the KDC knows", client)
	case codeServerUnknown:
		if realm := service.grants(); realm != "" && realm != service.realm {
			advice = fmt.Sprintf("%s and %s do not trust each other: kinit in %[2]s, or set up a "+
				"cross-realm key", printable(service.realm), printable(realm))
			break
		}
		advice = fmt.Sprintf("%v is not a principal that the KDC knows: write the server's "+
			"full name, or add the principal there, or see domain_realm in krb5.conf", service)
	case codePreauthFailed:
		advice = fmt.Sprintf("the keytab's key of %v is another one than the KDC's: get a new keytab",
			client)
	case codeTicketExpired:
		advice = "run kinit"
	case codeSkew:
		is := apart(timeOf(refused.STime, refused.Susec).Sub(k.clock.host()))
		advice = fmt.Sprintf("the KDC's clock is %s ours: set one of them", is)
		if was := k.clock.offset(); was.Abs() >= worthSaying {
			advice = fmt.Sprintf("the KDC's clock is %s ours, and was %s ours at the last login: run kinit",
				is, apart(was))
		}
	case codeEtype:
		advice = fmt.Sprintf("the KDC has for %v no key of a permitted encryption type: "+
			"give it keys of %s, or see permitted_enctypes in krb5.conf", service, supported())
	case codeKeyExpired, codeRevoked:
		advice = fmt.Sprintf("ask the KDC's administrator about %v", client)
	}
	if advice != "" {
		return failed(refused.code(), "%w: %s", refused, advice)
	}
	return failed(refused.code(), "%v asks for %v: %w", client, service, refused)
}
