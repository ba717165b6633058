package words

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// IsNoRoom reports whether an error is that a file system is full, or a quota used up.
func IsNoRoom(err error) bool {
	return errors.Is(err, nfs3.ErrNoSpc) || errors.Is(err, nfs3.ErrDQuot) || errors.Is(err, DiskFull) ||
		errors.Is(err, QuotaExceeded)
}

// NoRoomError is that there is no room for a file, and what it needs, in bytes.
type NoRoomError struct {
	Err    error
	Needed int64
	Free   int64 // -1: not known
}

func (e *NoRoomError) Error() string {
	text := Reason(e.Err)
	if e.Free < 0 || e.Free > e.Needed { // it may be no blocks that are used up, but a quota
		return fmt.Sprintf("%s: %s are needed", text, cli.Bytes(e.Needed))
	}
	return fmt.Sprintf("%s: %s are needed, %s are there", text, cli.Bytes(e.Needed), cli.Bytes(e.Free))
}
