package copying

import (
	"crypto/rand"
	"path"
	"strings"
)

// Names of temporary files begin with temporaryPrefix, and have temporaryRandom more characters.
const (
	temporaryPrefix = ".rpcrdma-"
	temporaryRandom = 10
)

// Temporary returns a temporary name in the directory of a file. It does not contain the file's
// name, which may have the maximum length already.
func Temporary(name string) string {
	return path.Join(path.Dir(name), temporaryPrefix+strings.ToLower(rand.Text()[:temporaryRandom]))
}

// IsTemporary reports whether the last part of a name is one that Temporary returns.
func IsTemporary(base string) bool {
	rest, ok := strings.CutPrefix(base, temporaryPrefix)
	return ok && len(rest) == temporaryRandom && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
