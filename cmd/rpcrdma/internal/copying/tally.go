package copying

import "sync/atomic"

// tally counts what has come of a copy so far.
type tally struct {
	files   atomic.Int64 // and links that were copied
	bytes   atomic.Int64 // of content that were transferred, those of files that failed included
	skipped atomic.Int64 // files that need no copy
	failed  atomic.Int64 // errors that were reported
}

// skippedError says why a file was not copied, which is no failure.
type skippedError string

func (e skippedError) Error() string { return "skipped: " + string(e) }
