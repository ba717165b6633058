package words

import (
	"errors"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// AboutError is an error about a file, under the name that the user knows.
type AboutError struct {
	Name string
	Err  error
}

func (e *AboutError) Error() string { return cli.Printable(e.Name) + ": " + Reason(e.Err) }

func (e *AboutError) Unwrap() error { return e.Err }

// LeftError is an error of a copy whose temporary file may still be there.
type LeftError struct {
	Err  error
	Left error // about the temporary file
}

func (e *LeftError) Error() string { return e.Err.Error() }

func (e *LeftError) Unwrap() error { return e.Err }

// MaybeLeft says that the error err may have left a temporary file.
func MaybeLeft(name string, err error) error {
	var known *AboutError
	if errors.As(err, &known) {
		err = known.Err
	}
	return &AboutError{name, errors.New("an incomplete file of that name may be left: " + Reason(err))}
}

// About adds to an error the file that it is about, unless it names one already.
func About(name string, err error) error {
	if err == nil {
		return nil
	}
	var known *AboutError
	if errors.As(err, &known) { // it names a file of the other side
		return known
	}
	return &AboutError{name, err}
}

// Errors of a copy.
var (
	ErrDirectory    = errors.New("is a directory: -r copies it")
	ErrOverDir      = errors.New("is a directory: a file cannot replace it")
	ErrOverFile     = errors.New("is not a directory: a directory cannot replace it")
	ErrNoDirectory  = errors.New("no such directory")
	ErrNotDirectory = errors.New("is not a directory")
	ErrSpecial      = errors.New("is neither a file nor a directory nor a link: not copied")
	ErrDangling     = errors.New("is a link that leads nowhere: it is not written through")
	ErrChanged      = errors.New("changed each time that it was read: not copied")
	ErrKept         = errors.New("has what was copied so far: with --partial, the same command goes on from there")
	ErrTwice        = errors.New("already has the copy of another file, and is not replaced")
	ErrItself       = errors.New("cannot be copied to itself")
	ErrLocalName    = errors.New("a file of this system cannot have that name")
)
