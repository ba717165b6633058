package gss

// Service is what of a call is protected, arguments and results alike (rpc_gss_service_t of RFC
// 2203 section 5). The header always is.
type Service uint32

const (
	// None proves who calls, and protects the header. Arguments and results travel as they are.
	None Service = 1
	// Integrity has a checksum over arguments and results.
	Integrity Service = 2
	// Privacy encrypts arguments and results.
	Privacy Service = 3
)

func (s Service) String() string {
	switch s {
	case None:
		return "none"
	case Integrity:
		return "integrity"
	case Privacy:
		return "privacy"
	}
	return "unknown service"
}
