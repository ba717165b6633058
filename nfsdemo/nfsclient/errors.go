package nfsclient

import "errors"

// Error is a procedure that failed. Err is, or wraps, the status with which the server
// answered (nfs3.Status, mount3.Status; errors.Is with fs.ErrNotExist and
// the like finds them) or the error of the RPC layer, such as an *oncrpc.CallError.
type Error struct {
	Op   string // the procedure's name: "LOOKUP"
	Name string // what it was about, where that has a name
	Err  error
}

func (e *Error) Error() string {
	if e.Name == "" {
		return "nfs: " + e.Op + ": " + e.Err.Error()
	}
	return "nfs: " + e.Op + " " + e.Name + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrVerifier: the server restarted while data was written to it, so that some of
// it may be lost (RFC 1813 section 3.3.7).
var ErrVerifier = errors.New("the write verifier changed: written data may be lost")
