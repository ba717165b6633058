package goxdr

import (
	"errors"
	"runtime"
)

// ErrTooDeep says that a value is nested too deeply: generated code decodes and encodes by
// recursion, and would need more than about 262,000 nested calls. A linked list takes one for each
// element. The error of a call wraps it if the arguments or results are nested too deeply.
var ErrTooDeep = errors.New("value is nested too deeply")

// A level of recursion may take as little as 4 bytes of the message, and a stack that exceeds Go's
// limit (1 GB) ends the process. Only the stack shows how deep the recursion is, because a long
// message need not be deep.
const (
	// maxDepth is the maximum number of nested calls when the stack is checked.
	maxDepth = 1 << 18
	// depthInterval is the number of Reads or Writes between checks of the stack. A check takes
	// time in proportion to the depth. Each level takes at least one Read or Write, so at most this
	// many levels are added to maxDepth unseen.
	depthInterval = 1 << 16
)

// depth counts the Reads or Writes of one value. The zero value is ready to use.
type depth int

// check is called for each Read or Write. It fails with ErrTooDeep.
func (d *depth) check() error {
	if *d++; *d%depthInterval != 0 {
		return nil
	}
	if runtime.Callers(maxDepth, make([]uintptr, 1)) > 0 {
		return ErrTooDeep
	}
	return nil
}
