package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// reason says why something did not work with a file, to somebody who knows which file it is.
func reason(err error) string {
	var other *placeError
	if errors.As(err, &other) {
		return other.Error() // it has the name of another file
	}
	var status nfs3.Status
	if errors.As(err, &status) {
		if words := statusWords[status]; words != "" {
			if doneBefore(err, nfs3.ErrExist) || doneBefore(err, nfs3.ErrNoEnt) {
				words += repeatedNote
			}
			return words
		}
		return fmt.Sprintf("the server says error %d", uint32(status))
	}
	if text := connectionReason(err); text != "" {
		return text
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return reason(path.Err)
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return reason(link.Err)
	}
	return err.Error()
}

// reason adds who was not permitted to do it.
func (w *work) reason(err error) string {
	text := reason(err)
	if !errors.Is(err, nfs3.ErrAcces) && !errors.Is(err, nfs3.ErrPerm) {
		return text
	}
	return text + w.remotes.flags.identity.denied()
}

// denied says whom a server has refused something.
func (id *identity) denied() string {
	if id.uid == 0 {
		return " to user 0, whom many servers take for nobody: --uid calls as another"
	}
	return fmt.Sprintf(" to user %d", id.uid)
}
