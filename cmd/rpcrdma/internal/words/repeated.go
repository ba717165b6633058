package words

import (
	"errors"
	"io/fs"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// When a connection comes back, calls without an answer are sent again. A server that has no longer
// the answer, for instance after a restart, executes such a call again, and fails because it was
// done before.

// DoneBefore reports whether err, with status as, may come from repeating a call that already
// succeeded.
func DoneBefore(err error, as nfs3.Status) bool {
	e := new(nfsclient.Error)
	return errors.As(err, &e) && e.Repeated && errors.Is(e, as)
}

// errUnseen is about an entry of a directory without attributes.
var errUnseen = errors.New("the server does not say what this is: its directory may not be searched by the caller, " +
	"or another file system is mounted there, which it has to export by itself")

// Unseen explains why an entry of a directory could not be looked up. It replaces "permission
// denied": the caller may list the directory, so the user is not the point.
func Unseen(err error) error {
	if errors.Is(err, nfs3.ErrAcces) || errors.Is(err, nfs3.ErrPerm) {
		return errUnseen
	}
	return err
}

// RepeatedNote is added to errors for which DoneBefore is true.
const RepeatedNote = " (the call was sent more than once, and may have succeeded the first time)"

// IgnoreGone returns nil for a file that does not exist: somebody else has removed it.
func IgnoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
