package krb5

import (
	"crypto/sha256"
	"time"
)

// minLeft is how long a ticket must be valid yet to be used.
const minLeft = time.Minute

// ticket is a ticket of a client's for a service, and what the client knows of it.
type ticket struct {
	client, service principal
	key             key // of the session
	start, end      time.Time
	encoded         []byte // as the KDC has encoded it
}

// usable reports whether a ticket is valid now, by a clock that may differ, and for a while to
// come.
func (t *ticket) usable(now time.Time) bool {
	return t != nil && t.end.Sub(now) >= minLeft && t.start.Sub(now) <= DefaultSkew
}

// grantsIn is the realm whose tickets a ticket-granting ticket is for, "" if it is another ticket.
func (t *ticket) grantsIn() string { return t.service.grants() }

// grants is the realm whose tickets a service grants, "" if it grants none.
func (p principal) grants() string {
	if len(p.name) == 2 && p.name[0] == ticketGranting {
		return p.name[1]
	}
	return ""
}

// ticketGranting is the first part of the name of the service that grants tickets.
const ticketGranting = "krbtgt"

func granting(realm, issuer string) principal {
	return principal{[]string{ticketGranting, realm}, issuer}
}

// id tells a ticket from others.
func (t *ticket) id() [32]byte { return sha256.Sum256(t.encoded) }
