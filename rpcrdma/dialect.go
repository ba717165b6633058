package rpcrdma

import "fmt"

// Dialect is the specification that a connection follows. Set both ends to the same one.
type Dialect uint8

const (
	// RFC8166 is what Linux and every other known peer speaks.
	RFC8166 Dialect = iota
	// Draft is draft-ietf-nfsv4-rpcrdma-08, with what RFC 8166 dropped or restricted: RDMA_MSGP,
	// read lists in replies with RDMA_DONE, and returned write chunks whose lengths include the XDR
	// round-up.
	Draft
)

// String returns the name of the dialect: "rfc8166" or "draft".
func (d Dialect) String() string {
	switch d {
	case RFC8166:
		return "rfc8166"
	case Draft:
		return "draft"
	}
	return fmt.Sprintf("dialect %d", uint8(d))
}

// ParseDialect is the inverse of Dialect.String.
func ParseDialect(s string) (Dialect, error) {
	for _, d := range []Dialect{RFC8166, Draft} {
		if s == d.String() {
			return d, nil
		}
	}
	return 0, fmt.Errorf("unknown dialect %q: want rfc8166 or draft", s)
}
