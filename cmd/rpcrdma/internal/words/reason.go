package words

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Reason says why something failed with a file. It does not name the file.
func Reason(err error) string {
	var other *AboutError
	if errors.As(err, &other) {
		return other.Error() // it names another file
	}
	var status nfs3.Status
	if errors.As(err, &status) {
		if words := StatusWords[status]; words != "" {
			if DoneBefore(err, nfs3.ErrExist) || DoneBefore(err, nfs3.ErrNoEnt) {
				words += RepeatedNote
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
		return Reason(path.Err)
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return Reason(link.Err)
	}
	return err.Error()
}
