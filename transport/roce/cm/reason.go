package cm

import "fmt"

// Reason is the reason why a connection was refused (IBTA section 12.6.7.2).
type Reason uint16

// Reasons.
const (
	NoQP               Reason = 1
	NoResources        Reason = 3
	Timeout            Reason = 4
	Unsupported        Reason = 5
	InvalidCommID      Reason = 6
	InvalidService     Reason = 8
	InvalidTransport   Reason = 9
	StaleConnection    Reason = 10
	InvalidGID         Reason = 12
	InvalidMTU         Reason = 26
	NotEnoughResources Reason = 27 // responder resources
	ConsumerDefined    Reason = 28
	InvalidRNRRetry    Reason = 29
	DuplicateCommID    Reason = 30
	InvalidVersion     Reason = 31
)

// String names the reason.
func (r Reason) String() string {
	switch r {
	case NoQP:
		return "no queue pair available"
	case NoResources:
		return "no resources available"
	case Timeout:
		return "timeout"
	case Unsupported:
		return "unsupported request"
	case InvalidCommID:
		return "invalid communication ID"
	case InvalidService:
		return "invalid service ID"
	case InvalidTransport:
		return "invalid transport service type"
	case StaleConnection:
		return "stale connection"
	case InvalidGID:
		return "primary remote port GID rejected"
	case InvalidMTU:
		return "invalid path MTU"
	case NotEnoughResources:
		return "insufficient responder resources"
	case ConsumerDefined:
		return "consumer reject"
	case InvalidRNRRetry:
		return "RNR retry count reject"
	case DuplicateCommID:
		return "duplicate local communication ID"
	case InvalidVersion:
		return "invalid class version"
	}
	return fmt.Sprintf("reason %d", uint16(r))
}
