package krb5

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// initiation is a context being created with a service.
type initiation struct {
	initiator *Initiator
	service   string
	ticket    *ticket

	sent     bool // whether the AP-REQ was sent
	done     bool
	time     time.Time // in the authenticator
	subkey   key
	sequence uint32
}

// Step first makes the AP-REQ, and then processes the AP-REP or KRB-ERROR.
func (n *initiation) Step(_ context.Context, token []byte) ([]byte, gss.Context, error) {
	switch {
	case n.done:
		return nil, nil, defective(errors.New("the context is complete already"))
	case !n.sent:
		b, err := n.request()
		if err != nil {
			return nil, nil, failed(codeGeneric, "AP-REQ: %w", err)
		}
		n.sent = true
		return b, nil, nil
	}
	id, msg, err := unframe(token)
	if err != nil {
		return nil, nil, err
	}
	n.done = true
	switch id {
	case tokAPRep:
		made, err := n.finish(msg)
		if err != nil {
			return nil, nil, err
		}
		return nil, made, nil
	case tokError:
		return nil, nil, n.refused(msg)
	}
	return nil, nil, defective(fmt.Errorf("%s sent a token that is not an AP-REP", n.service))
}

// request makes the AP-REQ (RFC 4121 section 4.1.1). It does not set the flags for replay and
// sequence detection, because RPCSEC_GSS does both (RFC 2203 section 5.2.2).
func (n *initiation) request() ([]byte, error) {
	n.subkey, n.sequence = newKey(n.ticket.key.etype), newSequence()
	n.time = n.initiator.now()
	sum := make([]byte, checksumLen)
	binary.LittleEndian.PutUint32(sum, checksumBindings)
	binary.LittleEndian.PutUint32(sum[4+checksumBindings:], flagMutual|flagConf|flagInteg)
	b, err := n.ticket.present(bits(optionMutualRequired), usageAPReqAuth, n.time,
		func(a *types.Authenticator) {
			a.Cksum = types.Checksum{CksumType: checksumType, Checksum: sum}
			a.SubKey = n.subkey.wire()
			a.SeqNumber = int64(n.sequence)
		})
	if err != nil {
		return nil, err
	}
	return frame(tokAPReq, b), nil
}

// finish processes the AP-REP (RFC 4120 section 3.2.5).
func (n *initiation) finish(msg []byte) (gss.Context, error) {
	var rep messages.APRep
	if err := parse("AP-REP", rep.Unmarshal, msg); err != nil {
		return nil, failed(codeMsgType, "%s: %w", n.service, err)
	}
	if rep.PVNO != version {
		return nil, failed(codeBadVersion, "%s does not speak Kerberos version 5", n.service)
	}
	plain, err := n.ticket.key.decrypt(usageAPRepEncPart, rep.EncPart)
	if err != nil {
		return nil, failed(codeBadIntegrity, "%s's AP-REP: %w", n.service, err)
	}
	var part messages.EncAPRepPart
	if err := parse("AP-REP", part.Unmarshal, plain); err != nil {
		return nil, failed(codeMsgType, "%s: %w", n.service, err)
	}
	seconds, micros := protocolTime(n.time)
	if !part.CTime.Equal(seconds) || part.Cusec != micros {
		return nil, failed(codeModified, "%s's AP-REP is for another request", n.service)
	}
	base := baseKey{key: n.subkey}
	if len(part.Subkey.KeyValue) > 0 {
		if base.key, err = keyOf(part.Subkey); err != nil {
			return nil, failed(codeEtype, "%s's subkey: %w", n.service, err)
		}
		base.acceptorSubkey = true
	}
	expires := n.ticket.end.Add(-n.initiator.kdc.clock.offset())
	return newContext(false, base, n.sequence, n.ticket.service.String(), expires)
}

// refused returns the error for a KRB-ERROR. Nothing authenticates its sender.
func (n *initiation) refused(msg []byte) error {
	var e messages.KRBError
	if err := parse("KRB-ERROR", e.Unmarshal, msg); err != nil {
		return failed(codeMsgType, "%s: %w", n.service, err)
	}
	c := code(e.ErrorCode)
	n.initiator.relearn(c)
	if c == codeSkew || c == codeTicketNotYet {
		return failed(c, "%s: %v: its clock is %s %s: set one of them", n.service, c,
			apart(timeOf(e.STime, e.Susec).Sub(n.time)), n.initiator.kdc.clock.ours())
	}
	if err := n.explain(c); err != nil {
		return err
	}
	if e.EText != "" && e.EText != c.String() {
		return failed(c, "%s: %v (\"%s\")", n.service, c, printable(e.EText))
	}
	return failed(c, "%s: %v", n.service, c)
}

var _ gss.Explainer = (*initiation)(nil)

// Explain explains a server's minor status, if it is of MIT's error table.
func (n *initiation) Explain(refusal *gss.StatusError) *gss.StatusError {
	said := *refusal
	c, ok := codeOfMinor(refusal.Minor)
	if !ok {
		return &said
	}
	n.initiator.relearn(c)
	if err := n.explain(c); err != nil {
		said.Err = err.Err
	} else {
		said.Err = fmt.Errorf("%s: %v", n.service, c)
	}
	return &said
}

// explain says what to do about a refusal, or returns nil. If the service has no key for a ticket,
// the ticket is not used again.
func (n *initiation) explain(c code) *gss.StatusError {
	switch c {
	case codeSkew, codeTicketNotYet:
		return failed(c, "%s: %v: compare its clock with %s", n.service, c, n.initiator.kdc.clock.ours())
	case codeBadKeyVersion, codeNoKey, codeBadIntegrity, codeNotUs, codeModified:
		n.initiator.refuse(n.ticket)
		return failed(c, "%s: %v: its keytab has no key for a ticket of %v, or our ticket is old",
			n.service, c, n.ticket.service)
	case codeTicketExpired:
		return failed(c, "%s: %v: run kinit, or its clock is ahead of ours", n.service, c)
	}
	return nil
}
