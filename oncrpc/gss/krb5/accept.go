package krb5

import (
	"encoding/binary"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// Bits of a ticket's flags (RFC 4120 section 5.3).
const (
	ticketInvalid        = 7
	ticketTransitChecked = 12
)

// The checksum field of an authenticator (RFC 4121 section 4.1.1).
const (
	checksumType     = 0x8003
	checksumLen      = 24 // without the optional fields
	checksumBindings = 16 // bytes of channel bindings

	flagMutual = 2
	flagConf   = 16
	flagInteg  = 32
)

// accept processes an AP-REQ (RFC 4120 section 3.2.3). Cheap checks come first, because
// unauthenticated peers send it. reply is the token to send, nil if the client wants none.
func (a *Acceptor) accept(msg []byte) (reply []byte, made gss.Context, err error) {
	var req messages.APReq
	if err := parse("AP-REQ", req.Unmarshal, msg); err != nil {
		return nil, nil, failed(codeMsgType, "%w", err)
	}
	now := a.cfg.Now()
	ticket, err := a.openTicket(&req, now)
	if err != nil {
		return nil, nil, err
	}
	client := principalOf(ticket.CName, ticket.CRealm)
	if err := a.checkTicket(ticket, req.Ticket.Realm, client, now); err != nil {
		return nil, nil, err
	}
	session, err := keyOf(ticket.Key)
	if err != nil {
		return nil, nil, failed(codeEtype, "%v's session key: %w: give the service's principal keys of "+
			"AES only", client, err)
	}
	id := idOf(req.EncryptedAuthenticator.Cipher) // before it is decrypted in place
	auth, err := openAuthenticator(&req, session, client)
	if err != nil {
		return nil, nil, err
	}
	if err := a.checkAuthenticator(auth, client, now); err != nil {
		return nil, nil, err
	}
	if err := a.replays.add(id, client.String(), now); err != nil {
		return nil, nil, err
	}
	return a.answer(auth, session, client, ticket.EndTime.Add(a.cfg.Skew))
}

// openTicket decrypts the ticket if it is for this service.
func (a *Acceptor) openTicket(req *messages.APReq, now time.Time) (*messages.EncTicketPart, error) {
	t := &req.Ticket
	service := principalOf(t.SName, t.Realm)
	id := enctype.ID(t.EncPart.EType)
	switch {
	case req.PVNO != version || t.TktVNO != version:
		return nil, failed(codeBadVersion, "a client does not speak Kerberos version 5")
	case req.APOptions.At(optionUseSessionKey) != 0:
		return nil, failed(codeNoKey, "a client wants user-to-user authentication, which is not supported")
	case service.len() > maxName:
		return nil, failed(codeNotUs, "a client's ticket is for a principal whose name has %d bytes",
			service.len())
	case !id.Supported():
		return nil, failed(codeEtype, "a client's ticket for %v is encrypted with %v: give the "+
			"principal keys of %s", service, id, supported())
	}
	keys, unread := a.keys.current(now)
	plain, err := keys.open(service, t.EncPart)
	switch {
	case err != nil && unread != nil:
		return nil, failed(codeOf(err), "%w, and it cannot be read again: %w", err, unread)
	case err != nil:
		return nil, err
	}
	part := new(messages.EncTicketPart)
	if err := parse("ticket", part.Unmarshal, plain); err != nil {
		return nil, failed(codeMsgType, "%w", err)
	}
	if len(part.CName.NameString) == 0 || part.CRealm == "" {
		return nil, failed(codeMsgType, "a client's ticket has no name")
	}
	if n := principalOf(part.CName, part.CRealm).len(); n > maxName {
		return nil, failed(codePolicy, "a client's name has %d bytes, more than %d", n, maxName)
	}
	return part, nil
}

// checkTicket checks the times and the path of a ticket. It ignores addresses, because clients have
// many and are behind address translation.
func (a *Acceptor) checkTicket(t *messages.EncTicketPart, realm string, client principal,
	now time.Time) error {
	unchecked := len(t.Transited.Contents) > 0 && t.Flags.At(ticketTransitChecked) == 0
	start := t.StartTime
	if start.IsZero() {
		start = t.AuthTime
	}
	switch {
	case t.Flags.At(ticketInvalid) != 0:
		return failed(codeTicketNotYet, "%v's ticket is postdated, and has to be validated first", client)
	case start.Sub(now) > a.cfg.Skew:
		return failed(codeTicketNotYet, "%v's ticket is valid from %v on, and it is %v: compare the "+
			"clocks of the KDC and of this host", client, at(start), at(now))
	case now.Sub(t.EndTime) > a.cfg.Skew:
		return failed(codeTicketExpired, "%v's ticket has expired at %v, and it is %v: the client needs "+
			"a new one (kinit), or the clock of this host is ahead", client, at(t.EndTime), at(now))
	case client.realm != realm && unchecked:
		return failed(codePathNotAccepted, "%v's ticket has come through realms that its KDC has not "+
			"checked", client)
	}
	return nil
}

// openAuthenticator decrypts the authenticator.
func openAuthenticator(req *messages.APReq, session key, client principal) (
	*types.Authenticator, error) {
	plain, err := session.decrypt(usageAPReqAuth, req.EncryptedAuthenticator)
	if err != nil {
		return nil, failed(codeBadIntegrity, "%v's authenticator: %w", client, err)
	}
	auth := new(types.Authenticator)
	if err := parse("authenticator", auth.Unmarshal, plain); err != nil {
		return nil, failed(codeMsgType, "%w", err)
	}
	return auth, nil
}

// checkAuthenticator checks the principal, time and checksum of an authenticator.
func (a *Acceptor) checkAuthenticator(auth *types.Authenticator, client principal,
	now time.Time) error {
	sum := auth.Cksum.Checksum
	sent := timeOf(auth.CTime, auth.Cusec)
	switch {
	case auth.AVNO != version:
		return failed(codeBadVersion, "%v does not speak Kerberos version 5", client)
	case !client.equal(principalOf(auth.CName, auth.CRealm)):
		return failed(codeBadMatch, "%v's ticket comes with the authenticator of %v", client,
			principalOf(auth.CName, auth.CRealm))
	case sent.Sub(now).Abs() > a.cfg.Skew:
		return failed(codeSkew, "the clock of %v's host is %s ours, more than %v: set it", client,
			apart(sent.Sub(now)), a.cfg.Skew)
	case auth.Cksum.CksumType != checksumType:
		return failed(codeBadChecksum, "%v's authenticator has a checksum of type %#x, want %#x", client,
			auth.Cksum.CksumType, checksumType)
	// Channel bindings from a client are ignored, since we have none (RFC 4121 section 4.1.1.2).
	case len(sum) < checksumLen || binary.LittleEndian.Uint32(sum) != checksumBindings:
		return failed(codeBadChecksum, "%v's authenticator has a malformed checksum", client)
	}
	return nil
}

// answer makes the context, and the AP-REP if the client wants one.
func (a *Acceptor) answer(auth *types.Authenticator, session key, client principal,
	expires time.Time) ([]byte, gss.Context, error) {
	base := baseKey{key: session}
	if len(auth.SubKey.KeyValue) > 0 {
		subkey, err := keyOf(auth.SubKey)
		if err != nil {
			return nil, nil, failed(codeEtype, "%v's subkey: %w", client, err)
		}
		base.key = subkey
	}
	sequence := uint32(auth.SeqNumber) // the client's first number, unless we choose one
	var reply []byte
	if binary.LittleEndian.Uint32(auth.Cksum.Checksum[4+checksumBindings:])&flagMutual != 0 {
		base = baseKey{key: newKey(base.key.etype), acceptorSubkey: true}
		sequence = newSequence()
		part, err := marshalEncAPRepPart(messages.EncAPRepPart{
			CTime: auth.CTime.UTC(), Cusec: auth.Cusec, Subkey: base.key.wire(),
			SequenceNumber: int64(sequence),
		})
		if err != nil {
			return nil, nil, failed(codeGeneric, "AP-REP: %w", err)
		}
		enc, err := session.encrypt(usageAPRepEncPart, part, 0)
		if err != nil {
			return nil, nil, failed(codeGeneric, "AP-REP: %w", err)
		}
		rep, err := marshalAPRep(enc)
		if err != nil {
			return nil, nil, failed(codeGeneric, "AP-REP: %w", err)
		}
		reply = frame(tokAPRep, rep)
	}
	made, err := newContext(true, base, sequence, client.String(), expires)
	if err != nil {
		return nil, nil, failed(codeGeneric, "%w", err)
	}
	return reply, made, nil
}

// newSequence returns a random sequence number for a first token. Its highest bits are zero,
// because some peers treat the number as signed.
func newSequence() uint32 {
	var b [4]byte
	random(b[:])
	return binary.BigEndian.Uint32(b[:]) >> 2
}
