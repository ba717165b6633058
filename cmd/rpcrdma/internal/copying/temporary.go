package copying

import (
	"crypto/rand"
	"path"
	"strings"
)

// The names of temporary files: what they begin with, and how many letters and digits follow.
const (
	temporaryPrefix = ".rpcrdma-"
	temporaryRandom = 10
)

// Temporary returns a name for a file that is not complete yet, beside its final name. That is not
// part of it: it may be as long as a name can be.
func Temporary(name string) string {
	return path.Join(path.Dir(name), temporaryPrefix+strings.ToLower(rand.Text()[:temporaryRandom]))
}

// IsTemporary reports whether the last part of a name is one that Temporary returns.
func IsTemporary(base string) bool {
	rest, ok := strings.CutPrefix(base, temporaryPrefix)
	return ok && len(rest) == temporaryRandom && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
