package copying

import "sync/atomic"

// tally counts the results of a copy so far.
type tally struct {
	files   atomic.Int64 // copied files and links
	bytes   atomic.Int64 // transferred bytes of content, including those of files that failed
	skipped atomic.Int64 // files that needed no copy
	failed  atomic.Int64 // errors that were reported
}

// skippedError says why a file needed no copy. It is not a failure.
type skippedError string

func (e skippedError) Error() string { return "skipped: " + string(e) }
