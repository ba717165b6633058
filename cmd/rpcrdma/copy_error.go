package main

import (
	"errors"
)

// placeError is an error about a file, by the name that a user knows it by.
type placeError struct {
	name string
	err  error
}

func (e *placeError) Error() string { return printable(e.name) + ": " + reason(e.err) }
func (e *placeError) Unwrap() error { return e.err }

// leftError is an error of a copy whose temporary file may still be there.
type leftError struct {
	err  error
	left error // what is to be said of the temporary file
}

func (e *leftError) Error() string { return e.err.Error() }
func (e *leftError) Unwrap() error { return e.err }

// maybeLeft says that a temporary file may be left, of which there is an error.
func maybeLeft(name string, err error) error {
	var known *placeError
	if errors.As(err, &known) {
		err = known.err
	}
	return &placeError{name, errors.New("an incomplete file may be left of that name: " + reason(err))}
}

// about says which file an error is about.
func about(name string, err error) error {
	if err == nil {
		return nil
	}
	var known *placeError
	if errors.As(err, &known) { // the other side's
		return known
	}
	return &placeError{name, err}
}

// Errors of a copy.
var (
	errDirectory    = errors.New("is a directory: -r copies it")
	errOverDir      = errors.New("is a directory: a file cannot replace it")
	errOverFile     = errors.New("is not a directory: a directory cannot replace it")
	errNoDirectory  = errors.New("no such directory")
	errNotDirectory = errors.New("is not a directory")
	errSpecial      = errors.New("is neither a file nor a directory nor a link: not copied")
	errDangling     = errors.New("is a link that leads nowhere: it is not written through")
	errTwice        = errors.New("is the copy of another: it is not replaced by this one")
	errLocalName    = errors.New("no file of this system can have that name")
)
