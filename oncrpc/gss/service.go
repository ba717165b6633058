package gss

// Service is the protection of arguments and results (rpc_gss_service_t of RFC 2203 section 5). The
// header is always protected by a checksum.
type Service uint32

const (
	// None proves who calls and protects the header. Arguments and results are not protected.
	None Service = 1
	// Integrity protects arguments and results with a checksum.
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
