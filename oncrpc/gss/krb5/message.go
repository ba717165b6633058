package krb5

import (
	"fmt"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// The protocol's version and the types of messages (RFC 4120 sections 5.4 to 5.9, 7.5.7).
const (
	version = 5

	msgASReq  = 10
	msgTGSReq = 12
	msgAPReq  = 14
	msgAPRep  = 15
	msgError  = 30
)

// Tags of the class APPLICATION (RFC 4120 appendix A).
const (
	tagEncAPRepPart = 27
)

// parse runs one of gokrb5's parsers on a message, which may come from an unauthenticated peer. The
// parsers do not check the total length, and may panic.
func parse(what string, unmarshal func([]byte) error, b []byte) (err error) {
	if len(b) == 0 {
		return fmt.Errorf("%s is missing", what)
	}
	if _, ok := cutLength(b[1:]); !ok {
		return fmt.Errorf("%s: length is wrong", what)
	}
	return guard(what, unmarshal, b)
}

func guard(what string, unmarshal func([]byte) error, b []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: %v", what, p)
		}
	}()
	if err := unmarshal(b); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// apReq is an AP-REQ with the ticket as encoded by the KDC (RFC 4120 section 5.5.1).
type apReq struct {
	PVNO          int                 `asn1:"explicit,tag:0"`
	MsgType       int                 `asn1:"explicit,tag:1"`
	APOptions     asn1.BitString      `asn1:"explicit,tag:2"`
	Ticket        asn1.RawValue       `asn1:"explicit,tag:3"`
	Authenticator types.EncryptedData `asn1:"explicit,tag:4"`
}

// Bits of the options of an AP-REQ.
const (
	optionUseSessionKey  = 1
	optionMutualRequired = 2
)

func bits(set ...int) asn1.BitString {
	b := types.NewKrbFlags()
	types.SetFlags(&b, set)
	return b
}

// marshalAPReq encodes an AP-REQ.
func marshalAPReq(ticket []byte, options asn1.BitString, authenticator types.EncryptedData) (
	[]byte, error) {
	b, err := asn1.Marshal(apReq{
		PVNO: version, MsgType: msgAPReq, APOptions: options,
		Ticket: asn1.RawValue{
			Class: asn1.ClassContextSpecific, IsCompound: true, Tag: 3, Bytes: ticket,
		},
		Authenticator: authenticator,
	})
	if err != nil {
		return nil, err
	}
	return asn1tools.AddASNAppTag(b, msgAPReq), nil
}

// marshalAPRep encodes an AP-REP (RFC 4120 section 5.5.2).
func marshalAPRep(enc types.EncryptedData) ([]byte, error) {
	b, err := asn1.Marshal(messages.APRep{PVNO: version, MsgType: msgAPRep, EncPart: enc})
	if err != nil {
		return nil, err
	}
	return asn1tools.AddASNAppTag(b, msgAPRep), nil
}

func marshalEncAPRepPart(part messages.EncAPRepPart) ([]byte, error) {
	b, err := asn1.Marshal(part)
	if err != nil {
		return nil, err
	}
	return asn1tools.AddASNAppTag(b, tagEncAPRepPart), nil
}

// marshalError encodes a KRB-ERROR (RFC 4120 section 5.9.1).
func marshalError(c code, now time.Time, service principal) ([]byte, error) {
	seconds, micros := protocolTime(now)
	e := messages.KRBError{
		PVNO: version, MsgType: msgError, STime: seconds, Susec: micros, ErrorCode: int32(c),
		Realm: service.realm, SName: service.wire(nameTypeServiceInst), EText: c.String(),
	}
	return e.Marshal()
}

// protocolTime splits a time into seconds and microseconds, as messages do.
func protocolTime(t time.Time) (seconds time.Time, micros int) {
	t = t.UTC()
	return t.Truncate(time.Second), t.Nanosecond() / 1000
}
