package sctp

import "github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"

// Carry has sessions on an association that another SCTP has made, for tests: the type of l keeps
// it to them. Both sides' indications have been compared. The draft's mode takes an l that knows
// the first TSN.
//
// Offer takes the sessions that the peer asks for, as Accept returns them, and reports false if
// there is no room. Where it is nil, open begins sessions, as DialContext returns them, and the
// association ends with the last of them. The error wraps ErrConfig.
func Carry(cfg Config, l lower.Association, local, remote Addr,
	offer func(*Conn) bool) (open func() (*Conn, error), err error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return newAssociation(c, l, local, remote, offer, nil).open, nil
}
