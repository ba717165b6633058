package sctp

import "github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"

// Carry runs sessions on an association of another SCTP, for tests; the internal type of l
// restricts it to them. The caller has already compared both sides' indications. With Config.Draft,
// l must know the first TSN.
//
// Offer takes the sessions that the peer asks for, which Accept would return. It reports false if
// there is no room. If offer is nil, open begins sessions, which DialContext would return, and the
// association ends with the last of them. The error wraps ErrConfig.
func Carry(cfg Config, l lower.Association, local, remote Addr,
	offer func(*Conn) bool) (open func() (*Conn, error), err error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return newAssociation(c, l, local, remote, offer, nil).open, nil
}
