package remote

import (
	"errors"
)

// MaxDepth is how deep a command walks into a tree. No path of Linux has more names.
const MaxDepth = 2048

var ErrDepth = errors.New("too deep")
