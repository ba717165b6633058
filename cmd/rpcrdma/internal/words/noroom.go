package words

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// IsNoRoom reports whether an error says that a file system is full or a quota used up.
func IsNoRoom(err error) bool {
	return errors.Is(err, nfs3.ErrNoSpc) || errors.Is(err, nfs3.ErrDQuot) || errors.Is(err, DiskFull) ||
		errors.Is(err, QuotaExceeded)
}

// NoRoomError says that there is no room for a file, and how many bytes it needs.
type NoRoomError struct {
	Err    error
	Needed int64
	Free   int64 // -1: not known
}

func (e *NoRoomError) Error() string {
	text := Reason(e.Err)
	if e.Free < 0 || e.Free > e.Needed { // a quota, or the number of files, may be used up instead
		return fmt.Sprintf("%s: %s needed", text, cli.Bytes(e.Needed))
	}
	return fmt.Sprintf("%s: %s needed, %s free", text, cli.Bytes(e.Needed), cli.Bytes(e.Free))
}
