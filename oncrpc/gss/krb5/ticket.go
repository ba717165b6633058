package krb5

import (
	"crypto/sha256"
	"time"
)

// minLeft is how long a ticket must remain valid to be used.
const minLeft = time.Minute

// ticket is a client's ticket for a service, and what the client knows about it.
type ticket struct {
	client, service principal
	key             key // session key
	start, end      time.Time
	encoded         []byte // as encoded by the KDC
}

// usable reports whether a ticket is valid now, allowing for clock skew, and for at least minLeft.
func (t *ticket) usable(now time.Time) bool {
	return t != nil && t.end.Sub(now) >= minLeft && t.start.Sub(now) <= DefaultSkew
}

// grantsIn returns the realm for which a ticket-granting ticket is, or "" for other tickets.
func (t *ticket) grantsIn() string { return t.service.grants() }

// grants returns the realm for which a service grants tickets, or "".
func (p principal) grants() string {
	if len(p.name) == 2 && p.name[0] == ticketGranting {
		return p.name[1]
	}
	return ""
}

// ticketGranting is the first part of the name of a ticket-granting service.
const ticketGranting = "krbtgt"

func granting(realm, issuer string) principal {
	return principal{[]string{ticketGranting, realm}, issuer}
}

// id identifies a ticket.
func (t *ticket) id() [32]byte { return sha256.Sum256(t.encoded) }
