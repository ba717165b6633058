package cli

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns a name for a terminal: quoted if it has unprintable characters, or a space at
// either end.
func Printable(name string) string {
	if name == "" || name != strings.TrimSpace(name) || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// long matches overlong words, and captures their two ends.
var long = regexp.MustCompile(`(\S{120})\S{80,}(\S{60})`)

// Cut leaves out the middle of overlong words, such as names, of a message.
func Cut(message string) string { return long.ReplaceAllString(message, "$1...$2") }
