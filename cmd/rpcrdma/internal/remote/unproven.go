package remote

// Unproven is why calls cannot use Kerberos.
type Unproven int

// Reasons.
const (
	NoTicket      Unproven = iota // no usable ticket, and no key to get one with
	TicketExpired                 // expired, or expires within a minute
	HostByAddress                 // the URL has the host's address, but Kerberos needs its name
)

// UnprovenError says what is missing at this end for calls with Kerberos.
type UnprovenError struct {
	Kind Unproven
	text string
}

func (e *UnprovenError) Error() string { return e.text }
