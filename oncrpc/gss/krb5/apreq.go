package krb5

import (
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/types"
)

// present returns an AP-REQ with a ticket (RFC 4120 section 3.2.2). fill completes the
// authenticator.
func (t *ticket) present(options asn1.BitString, usage uint32, now time.Time,
	fill func(*types.Authenticator)) ([]byte, error) {
	seconds, micros := protocolTime(now)
	auth := types.Authenticator{
		AVNO: version, CRealm: t.client.realm, CName: t.client.wire(nameTypePrincipal),
		CTime: seconds, Cusec: micros,
	}
	fill(&auth)
	plain, err := auth.Marshal()
	if err != nil {
		return nil, err
	}
	enc, err := t.key.encrypt(usage, plain, 0)
	if err != nil {
		return nil, err
	}
	return marshalAPReq(t.encoded, options, enc)
}
