package goxdr

import (
	"errors"
	"runtime"
)

// ErrTooDeep: generated code, which decodes and encodes by recursion, would need more than about
// 262,000 nested calls for a value. A linked list takes one for each element. The error of a call
// whose results are nested so deeply wraps it, and so does that of one whose arguments are.
var ErrTooDeep = errors.New("value is nested too deeply")

// A level of recursion may have no more than 4 bytes of the message. A stack that exceeds the
// largest that Go allows, 1 GB or 250 MB with 32-bit pointers, ends the process. The stack alone
// tells how deep the recursion is: a long message need not be a deep one.
const (
	// maxDepth is how many calls deep the stack may be when it is looked at.
	maxDepth = 1 << 18
	// depthInterval is the number of Reads or Writes after which the stack is looked at. That takes
	// time in proportion to its depth. Each level takes at least one, so no more levels than that
	// are added to maxDepth unseen.
	depthInterval = 1 << 16
)

// depth counts the Reads, or Writes, of one value. The zero value is ready for use.
type depth int

// check is called with each Read or Write. It fails with ErrTooDeep.
func (d *depth) check() error {
	if *d++; *d%depthInterval != 0 {
		return nil
	}
	if runtime.Callers(maxDepth, make([]uintptr, 1)) > 0 {
		return ErrTooDeep
	}
	return nil
}
