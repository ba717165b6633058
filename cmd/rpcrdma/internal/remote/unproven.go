package remote

// Unproven is why nobody can be proved to call.
type Unproven int

// What there is of them.
const (
	NoTicket      Unproven = iota // none that can be used, and no key to get one by
	TicketExpired                 // or it does so within a minute
	HostByAddress                 // the URL has no name of the host, which Kerberos needs
)

// UnprovenError is that calls cannot be made with Kerberos, for want of something at this end.
type UnprovenError struct {
	Kind Unproven
	text string
}

func (e *UnprovenError) Error() string { return e.text }
