package words

import (
	"errors"
	"io/fs"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// Connections come back, and a call whose answer was lost is sent again. A server that has kept no
// answer, such as one that was started anew, executes it again, and finds that it was done.

// DoneBefore reports whether that may be what an error means that says as.
func DoneBefore(err error, as nfs3.Status) bool {
	e := new(nfsclient.Error)
	return errors.As(err, &e) && e.Repeated && errors.Is(e, as)
}

// errUnseen is a name in a directory of which there is no more to be known.
var errUnseen = errors.New("the server does not say what this is: its directory may not be searched by the caller, " +
	"or another file system is mounted there, which it has to export by itself")

// Unseen says of an entry of a directory why it could not be looked at. Who may list the directory
// and not look at an entry is not helped by being told who calls.
func Unseen(err error) error {
	if errors.Is(err, nfs3.ErrAcces) || errors.Is(err, nfs3.ErrPerm) {
		return errUnseen
	}
	return err
}

// RepeatedNote is for errors of which it cannot be found out whether that is what they mean.
const RepeatedNote = " (the server was asked more than once: this may be what the first call has done)"

// IgnoreGone takes what somebody else has removed for removed.
func IgnoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
